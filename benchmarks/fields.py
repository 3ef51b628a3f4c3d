"""In what share of pages title, author, dates, lists and tables are read right.

    python benchmarks/fields.py FOLDER --pages PAGES.csv --truth TRUTH.csv [--seen 2026-06-01]

FOLDER holds pages (*.html, *.pdf, *.html.gz). PAGES.csv gives for each `file` its `url` and `content_type`.
TRUTH.csv gives what a reader sees, one row a `file`: `title` (a part of it is enough), `authors` (separated by
" | "), `published` and `modified` (ISO, as exact as the page is); an empty cell means that the page says
nothing, and then nothing must be found. A field without its column is left out.

Lists and tables need no truth: counted are the pages on which 95% of the letters of the list points, or table cells,
that stand in sight and outside menus are in the text, or in the lines outside of it, of the packet.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import Counter
from pathlib import Path

from sourcebench.extract import decode, extract_page
from sourcebench.extract.lost import squeeze
from sourcebench.extract.names import name_key
from sourcebench.extract.survey import is_beside
from sourcebench.extract.tree import parse
from sourcebench.extract.view import read_view
from sourcebench.records import Packet

POINTS = (
    "//body//li[not(.//li)][not(ancestor::nav|ancestor::header|ancestor::footer|ancestor::form)]"
)
CELLS = (
    "//body//*[self::td or self::th][not(.//table)]"
    "[not(ancestor::nav|ancestor::header|ancestor::footer|ancestor::form)]"
)


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of a CSV by their file, without what tells how it was packed."""
    with path.open(encoding="utf-8", newline="") as file:
        return {plain_name(row["file"]): row for row in csv.DictReader(file)}


def plain_name(name: str) -> str:
    """Return a file's name without its endings."""
    return name.removesuffix(".gz").removesuffix(".html").removesuffix(".pdf")


def is_right(field: str, packet: Packet, wanted: str) -> bool:
    """Whether a field of a packet says what a reader sees, and nothing where there is nothing."""
    if field == "title":
        return (wanted.casefold() in packet.title.casefold()) if wanted else not packet.title
    if field == "authors":
        names = {name_key(name) for name in wanted.split(" | ") if name.strip()}
        found = {name_key(author.name) for author in packet.authors}
        return names <= found if names else not found
    dated = getattr(packet, field)
    return (dated.date if dated else "") == wanted


def parts_kept(body: bytes, headers: dict[str, str], packet: Packet, path: str) -> bool | None:
    """Whether list points or table cells in sight are in the packet; None where there are none."""
    decoded = decode.decode(body, headers)
    view = read_view(parse(decoded.text), decoded, packet.url)
    kept, letters = squeeze(f"{packet.text}\n{packet.outside}"), Counter()
    for element in view.root.xpath(path):
        words, linked = (squeeze("".join(part.itertext())) for part in (element, *links(element)))
        if len(words) > 3 and len(linked) < 0.5 * len(words) and not is_beside(element):
            letters[words in kept] += len(words)
    return letters[True] >= 0.95 * sum(letters.values()) if letters else None


def links(element) -> list:
    """Return an element with only the links of another."""
    from lxml import etree

    only = etree.Element("div")
    only.text = " ".join("".join(link.itertext()) for link in element.iter("a"))
    return [only]


def main() -> None:
    """Read the pages and print the shares, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--seen", default="2026-06-01", help="day of the visit")
    asked = parser.parse_args()
    rows, truth = read_rows(asked.pages), read_rows(asked.truth) if asked.truth else {}
    shares: dict[str, Counter] = {}
    for file in sorted(p for p in asked.folder.iterdir() if plain_name(p.name) in rows):
        name = plain_name(file.name)
        body = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        headers = {"Content-Type": rows[name]["content_type"]}
        seen = f"{asked.seen}T12:00:00Z"
        packet = extract_page(name, rows[name]["url"], body, headers=headers, fetched_at=seen)
        results = {f: is_right(f, packet, v) for f, v in truth.get(name, {}).items() if f != "file"}
        if packet.media_type == decode.HTML and packet.outcome in ("ok", "partial"):
            results["lists"] = parts_kept(body, headers, packet, POINTS)
            results["tables"] = parts_kept(body, headers, packet, CELLS)
        for field, right in results.items():
            if right is not None:
                shares.setdefault(field, Counter())[right] += 1
            if right is False:
                print(f"{name}: {field}")
    for field, counts in shares.items():
        print(f"{field:10} {counts[True]:4} of {sum(counts.values())}")


if __name__ == "__main__":
    main()
