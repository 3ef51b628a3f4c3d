"""What a body that reports an error says, whichever engine it comes from."""

from __future__ import annotations

from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.mentions import failed, items, obj, places, text_of
from sourcebench.engines.wire import Opened

_LONGEST = 300


def fault_reply(reply: Opened) -> Reply | None:
    """Return the reply of a request that failed, or None where an answer came back."""
    message = fault_message(reply.value)
    if reply.status is not None and reply.status >= 400:
        said = f": {message}" if message else ""
        return failed(f"HTTP {reply.status}{said}")
    return failed(message) if message and _only_fault(obj(reply.value)) else None


def _only_fault(value: dict[str, Any]) -> bool:
    """Whether a body holds an error and no answer."""
    if isinstance(value.get("message"), dict):
        return False
    answers = (
        "choices", "output", "outputs", "candidates", "content", "results", "search_metadata",
        "steps", "answer", "search_response", "items", "organic", "web",
    )  # fmt: skip
    return not any(value.get(name) for name in answers)


def fault_message(value: Any) -> str:
    """Return the message of an error body in any of the known shapes, or an empty text."""
    if isinstance(value, list):
        value = next((item for item in items(value) if "error" in item), {})
    value = obj(value)
    for name in ("error", "detail"):
        found = _message(value.get(name))
        if found:
            code = text_of(value.get("code"))
            return _short(f"{code}: {found}" if code else found)
    if found := _message(places(value.get("errors"))):
        return _short(found)
    # Some say no more than a message: it is one, where nothing stands that could be an answer.
    return _short(text_of(value.get("message")) or text_of(value.get("Message")))


def _message(found: Any) -> str:
    """Return the words of an error, with its code or type in front."""
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        said = (text_of(one.get("msg")) or _message(one) for one in items(found))
        return "; ".join(filter(None, said))
    found = obj(found)
    words = next(
        (found[n] for n in ("message", "detail", "error") if isinstance(found.get(n), str)), ""
    )
    code = next((found[n] for n in ("code", "status", "type") if isinstance(found.get(n), str)), "")
    return f"{code}: {words}" if code and words else words or code


def _short(text: str) -> str:
    """Return a message on one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
