"""Numbered markers in an answer, mapped to the sources that the engine lists."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcebench.engines.mentions import Source
from sourcebench.intext import markers

_TEMPLATE = re.compile(r"[\[【]citation:\s*(\d{1,3})[\]】]", re.IGNORECASE)


def marked(text: str, numbered: Mapping[int, Source]) -> tuple[list[Source], list[str]]:
    """Return a mention for each marker with a source, and a warning for each without one.

    `[citation:3]`, as DeepSeek's template asks for, goes before plain `[3]`: where a text has the
    former, numbers in brackets are text.
    """
    found = [(m.start(), m.end(), (int(m.group(1)),)) for m in _TEMPLATE.finditer(text)]
    found = found or [(m.start, m.end, m.numbers) for m in markers(text)]
    mentions, warnings = [], []
    for start, end, numbers in found:
        for number in numbers:
            source = numbered.get(number)
            if source is None:
                warnings.append(f"marker_out_of_range:{number}")
            else:
                mentions.append(Source(source.url, source.title, source.date, start, end))
    return mentions, warnings
