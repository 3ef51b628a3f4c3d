"""One request to a judge before it is sent: what is asked, what about, and under which key it is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sourcebench.judge.endpoint import Reply
from sourcebench.judge.spending import estimated_tokens
from sourcebench.records import Packet


@dataclass(frozen=True)
class Request:
    """A request, not yet in a dialect."""

    key: str
    messages: tuple[dict[str, str], ...]
    schema: Mapping[str, Any]
    room: int
    about: Mapping[str, Any]
    flags: tuple[str, ...] = ()
    raw: Mapping[str, Any] | None = None  # sent as it stands, in place of messages

    @property
    def prompt_tokens(self) -> int:
        """Return about how many tokens the messages are."""
        prompt = self.raw["prompt"] if self.raw else ""
        return sum(estimated_tokens(m["content"]) for m in self.messages) + estimated_tokens(prompt)


def page_hash(packet: Packet) -> str:
    """Return what identifies the content of a packet, apart from when it was fetched."""
    content = {k: v for k, v in packet.to_dict().items() if k != "fetched_at"}
    return digest(**content)


def digest(**parts: Any) -> str:
    """Return the SHA-256 of values, in hexadecimal."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def reply_of(line: Mapping[str, Any]) -> Reply:
    """Return the reply that a line of the journal holds."""
    return Reply(
        line["status"],
        text=line["text"],
        reason=line["reason"],
        finish=line["finish"],
        model=line["response_model"],
        fingerprint=line["fingerprint"],
        usage=line["usage"],
        attempts=line["attempts"],
        at=line["at"],
    )
