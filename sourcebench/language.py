"""The language of a text."""

from __future__ import annotations


def text_language(text: str, declared: str = "") -> str:
    """Return the language of a text, ISO 639-1; of a text too short to tell, the declared one."""
    if len(text) < 80:
        return declared
    import py3langid

    return py3langid.classify(text[:600])[0]
