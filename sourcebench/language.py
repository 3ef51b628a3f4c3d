"""The language of a text."""

from __future__ import annotations

# No text of another language has all of these this often.
_ENGLISH = ("the", "of", "and", "to")
_OFTEN = 0.12


def text_language(text: str, declared: str = "") -> str:
    """Return the language of a text, ISO 639-1; of a text too short to tell, the declared one."""
    if len(text) < 80:
        return declared
    if declared == "en" and _is_plainly_english(text[:1200]):
        return declared
    import py3langid

    return py3langid.classify(text[:600])[0]


def _is_plainly_english(text: str) -> bool:
    """Whether the commonest English words are all there and make up much of a text: most pages, quickly."""
    words = text.lower().split()
    counts = [words.count(word) for word in _ENGLISH]
    return min(counts) > 0 and sum(counts) >= _OFTEN * len(words)
