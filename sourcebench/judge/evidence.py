"""What a packet shows: counted words, classed links, contact facts. No score is decided here."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from sourcebench.records import Link, Packet

HERE = Path(__file__).parent
CUES_FILE = HERE / "cues.toml"
SITES_FILE = HERE / "sites.csv"

# What the rubric calls primary sources: government, university, research.
PRIMARY = ("government", "academic", "scholarly", "public_body", "institution")

Finding = tuple[int | None, str]  # a score, or none, and what was seen
Table = Mapping[str, Mapping[str, float]]  # thresholds: metric -> name -> value

# A judge reads no more of a page than this; the rest can't change a verdict, only its cost.
TEXT_CHARS = 100_000
OUTSIDE_CHARS = 30_000
LINKS = 2_000

_WORD = re.compile(r"[^\W_]+(?:['’.&+-][^\W_]+)*[%+]?")
_INSTITUTION = re.compile(
    r"(?:^|\.)(?:(gov|mil|edu|int)$|(gov|gouv|gob|gub|go|govt|gv|mil|edu|ac)\.(?:[a-z]{2,4}|example)$)"
)
_SECOND_LEVELS = ("ac", "co", "com", "edu", "gov", "mil", "net", "org")  # below .example
_GOVERNMENT = ("gov", "gouv", "gob", "gub", "go", "govt", "gv", "mil", "int")
_STREETS = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Way|Square|Plaza|Parkway|Highway|Court"
    "|Terrace|Place|Quay"
)
_ADDRESS = re.compile(
    rf"\b\d{{1,5}}[ ](?:[NSEW]\.?[ ])?(?:[A-Z0-9][\w.'-]{{0,30}}[ ]){{1,4}}(?:{_STREETS})\b"
    r"|\b[A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2}\b"  # postcode, United Kingdom
    r"|\b[A-Z]{2},?[ ]+\d{5}(?:-\d{4})?\b"  # state and ZIP code
    r"|\b[A-ZÄÖÜ][\wäöüß-]{0,40}(?:straße|strasse|str\.|allee|platz|gasse|damm|ufer|weg)[ ]\d{1,4}[a-z]?\b"
    r"|\b\d{1,4}(?:[ ]bis)?,?[ ](?:rue|avenue|boulevard|place|quai|chemin)[ ][A-ZÉ\w]"
    r"|\b(?:Calle|Via|Plaza|Rua)[ ][A-Z]\w+(?:[ ]\w+){0,3},?[ ]\d{1,4}\b"
    r"|\bP\.?[ ]?O\.?[ ]?Box[ ]\d+|\bPostfach[ ]\d+"
)
_DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\s*")
_OTHERS_NAME = re.compile(r"getty|shutterstock|photo|image|trademark|foto|bild:", re.IGNORECASE)
_QUOTED = re.compile(r'“[^“”]{1,800}”|"[^"\n]{1,800}"|„[^„“”]{1,800}[“”]|«[^«»]{1,800}»')
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|copyright)[\s©]{0,5}(?:(?:19|20)\d\d[\s–,-]{0,5}){0,4}(?:by\s)?"
    r"([A-ZÄÖÜ][\w&.'-]{1,40}(?:[ ][\w&.'-]{1,40}){0,5})",
    re.IGNORECASE,
)


def few(items: Sequence[str], most: int = 3) -> str:
    """Return the first items in one short string."""
    return ", ".join(items[:most])


def step(value: float, *cuts: float) -> int:
    """Return 1 plus the number of cuts that a value reaches."""
    return 1 + sum(value >= cut for cut in cuts)


@cache
def cues() -> dict[str, frozenset[tuple[str, ...]]]:
    """Return each list of cue phrases as word tuples."""
    lists = tomllib.loads(CUES_FILE.read_text(encoding="utf-8"))
    return {name: frozenset(tuple(words(p)) for p in phrases) for name, phrases in lists.items()}


@cache
def _cue_index() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return all cue phrases under their first word, the longest first."""
    index: dict[str, set[tuple[str, ...]]] = {}
    for phrase in set().union(*(p for name, p in cues().items() if name != "function_words")):
        index.setdefault(phrase[0], set()).add(phrase)
    return {word: tuple(sorted(found, key=len, reverse=True)) for word, found in index.items()}


def cue_counts(tokens: list[str]) -> Counter[tuple[str, ...]]:
    """Count the cue phrases in a list of words, in one pass."""
    index = _cue_index()
    counts: Counter[tuple[str, ...]] = Counter()
    for place, word in enumerate(tokens):
        for phrase in index.get(word, ()):
            if len(phrase) == 1 or tuple(tokens[place : place + len(phrase)]) == phrase:
                counts[phrase] += 1
    return counts


@cache
def sites() -> dict[str, str]:
    """Return the kind of each listed site; top-level domains start with a dot.

    The list holds classes that can be named without looking at a page: agencies, national media,
    scholarly publishers, public bodies, well-known specialists and brands, hosts of blogs, sites that
    public bodies or encyclopedia editors name for disinformation, and top-level domains that abuse
    reports name. All other sites are judged by what their pages show.
    """
    with SITES_FILE.open(encoding="utf-8", newline="") as lines:
        return {row["site"]: row["kind"] for row in csv.DictReader(lines)}


def _textblob_file(name: str) -> Path:
    """Return a word list of TextBlob without importing it, which takes seconds."""
    found = find_spec("textblob")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(
            "the offline judge reads word lists of textblob: install textblob"
        )
    return Path(found.submodule_search_locations[0]) / "en" / name


@cache
def subjectivity_lexicon() -> dict[str, float]:
    """Return the mean subjectivity of each word in TextBlob's English lexicon (De Smedt and
    Daelemans, 2012).
    """
    scores: dict[str, list[float]] = {}
    for word in ElementTree.parse(_textblob_file("en-sentiment.xml")).getroot().iter("word"):
        scores.setdefault(word.get("form", ""), []).append(float(word.get("subjectivity", 0)))
    return {form: sum(values) / len(values) for form, values in scores.items()}


@cache
def word_frequencies() -> dict[str, int]:
    """Return how often English words occur in TextBlob's frequency list (Norvig's corpus)."""
    counts: dict[str, int] = {}
    for line in _textblob_file("en-spelling.txt").read_text(encoding="utf-8").splitlines():
        word, _, count = line.partition(" ")
        if count.strip().isdigit():
            counts[word.lower()] = counts.get(word.lower(), 0) + int(count)
    return counts


@cache
def _suffixes():
    """Return the reader of the bundled public suffix list; it never asks the network."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(),
        cache_dir=None,
        include_psl_private_domains=True,
        extra_suffixes=("example", *(f"{label}.example" for label in _SECOND_LEVELS)),
    )


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, with plain apostrophes."""
    return [w.lower().replace("’", "'") for w in _WORD.findall(text)]


@cache
def host_kind(host: str) -> str:
    """Return what kind of site a host is: a kind of `sites.csv`, `government`, `academic`,
    `private_suffix` (a host on which anyone may open a page), `cheap_suffix`, or "".

    Public suffixes such as gov.uk or ac.jp are given out to institutions only. Under `.example`
    (RFC 2606), where nobody can register, gov.example and the like are read as such suffixes.
    """
    parts = _suffixes()(host)
    listed = sites()
    labels = host.lower().split(".")
    for start in range(len(labels) - 1):
        if kind := listed.get(".".join(labels[start:])):
            return kind
    if match := _INSTITUTION.search(parts.suffix):
        return "government" if (match[1] or match[2]) in _GOVERNMENT else "academic"
    if parts.is_private:
        return "private_suffix"
    return listed.get("." + parts.suffix.rpartition(".")[2], "")


@cache
def registered(host: str) -> str:
    """Return the registered domain of a host, or the host."""
    return _suffixes()(host).top_domain_under_public_suffix or host


def host_of(url: str) -> str:
    """Return the host of an address, or "" for what is none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


@dataclass(frozen=True)
class Page:
    """A packet as the rules see it, bounded in size; each fact is worked out when first asked for."""

    packet: Packet

    @cached_property
    def text(self) -> str:
        """Return the main text up to the limit."""
        return self.packet.text[:TEXT_CHARS]

    @cached_property
    def outside(self) -> str:
        """Return the lines outside the main text: head and tail when there are too many."""
        lines = self.packet.outside
        if len(lines) <= OUTSIDE_CHARS:
            return lines
        return lines[: OUTSIDE_CHARS // 2] + "\n" + lines[-OUTSIDE_CHARS // 2 :]

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Return the links up to the limit."""
        return self.packet.links[:LINKS]

    @cached_property
    def tokens(self) -> list[str]:
        """Return the words of the main text."""
        return words(self.text)

    @cached_property
    def title_tokens(self) -> list[str]:
        """Return the words of the title."""
        return words(self.packet.title[:500])

    @cached_property
    def text_cues(self) -> Counter[tuple[str, ...]]:
        """Count the cue phrases in title and main text."""
        return cue_counts(self.title_tokens) + cue_counts(self.tokens)

    @cached_property
    def own_words(self) -> str:
        """Return title and main text without what stands in quotation marks."""
        return _QUOTED.sub(" ", f"{self.packet.title[:500]}\n{self.text}")

    @cached_property
    def own_tokens(self) -> list[str]:
        """Return the page's own words, without quotations."""
        return words(self.own_words)

    @cached_property
    def own_cues(self) -> Counter[tuple[str, ...]]:
        """Count the cue phrases in the page's own words."""
        return cue_counts(self.own_tokens)

    @cached_property
    def outside_cues(self) -> Counter[tuple[str, ...]]:
        """Count the cue phrases outside the main text."""
        return cue_counts(words(self.outside))

    @cached_property
    def labels(self) -> frozenset[tuple[str, ...]]:
        """Return the short lines and link texts that stand alone outside, as word tuples."""
        texts = [*self.outside.splitlines(), *(x.text for x in self.links)]
        paths = (urlsplit(x.url).path.strip("/").rpartition("/")[2] for x in self._own_links())
        made = (tuple(words(x[:80])) for x in (*texts, *(p.partition(".")[0] for p in paths)))
        return frozenset(x for x in made if 0 < len(x) <= 4)

    def _own_links(self) -> Iterator[Link]:
        """Yield the links to the page's own site."""
        own = registered(self.host)
        return (x for x in self.links if own and registered(host_of(x.url)) == own)

    @cached_property
    def host(self) -> str:
        """Return the page's host without www."""
        return host_of(self.packet.url) or self.packet.site

    @cached_property
    def kind_of_site(self) -> str:
        """Return the kind of the page's site."""
        return host_kind(self.host)

    @cached_property
    def headings(self) -> frozenset[tuple[str, ...]]:
        """Return the short lines of the main text as word tuples."""
        made = (tuple(words(x)) for x in self.text.splitlines() if len(x) <= 60)
        return frozenset(x for x in made if 0 < len(x) <= 4)

    def headed(self, cue: str) -> list[str]:
        """Return the phrases of a cue list that stand alone in the main text or outside."""
        return sorted(" ".join(p) for p in cues()[cue] & (self.labels | self.headings))

    def rate(self, cue: str, least: float) -> float:
        """Return the phrases of a cue list per thousand words, of at least `least` words."""
        return 1000 * sum(self.text_cues[p] for p in cues()[cue]) / max(len(self.tokens), least)

    def own_rate(self, cue: str, least: float) -> float:
        """Return the same for the page's own words, outside quotations."""
        return 1000 * sum(self.own_cues[p] for p in cues()[cue]) / max(len(self.own_tokens), least)

    def found(self, cue: str) -> list[str]:
        """Return the phrases of a cue list that occur in the text, the most frequent first."""
        seen = sorted((-self.text_cues[p], p) for p in cues()[cue] if self.text_cues[p])
        return [" ".join(p) for _, p in seen]

    def labelled(self, cue: str) -> list[str]:
        """Return the phrases of a cue list that stand alone outside or as link texts."""
        return sorted(" ".join(p) for p in cues()[cue] & self.labels)

    @cached_property
    def cited(self) -> dict[str, str]:
        """Return the addresses on other sites that the main text links to, with the kinds of site."""
        own = registered(self.host)
        found: dict[str, str] = {}
        for link in self.links:
            host = host_of(link.url)
            if link.place != "main" or not host or "sponsored" in link.rel:
                continue
            if registered(host) != own:
                found.setdefault(link.url.partition("#")[0], host_kind(host))
        return found

    @cached_property
    def scholarly_marks(self) -> list[str]:
        """Return the marks of scholarly works in the text and outside it, each as often as it stands."""
        found = self.text_cues + self.outside_cues
        return [" ".join(p) for p in sorted(cues()["scholarly_marks"]) for _ in range(found[p])]

    def is_scholarly(self, table: Table) -> bool:
        """Tell whether this is a scholarly article: it says so in its data, or is built like one."""
        declared = any("ScholarlyArticle" in str(x.get("@type", "")) for x in self.packet.json_ld)
        return declared or len(self.headed("scholarly_parts")) >= table["FA"]["headings_5"]

    @cached_property
    def subjectivity(self) -> float | None:
        """Return the mean subjectivity of the known words, 0 to 1; None with too few or no English."""
        if self.packet.language not in ("en", ""):
            return None
        lexicon = subjectivity_lexicon()
        known = [lexicon[w] for w in self.tokens if w in lexicon]
        return sum(known) / len(known) if len(known) >= 10 else None

    @cached_property
    def address(self) -> str:
        """Return a postal address outside the text or in the structured data, or ""."""
        for item in self.organisations:
            place = item.get("address")
            place = place[0] if isinstance(place, list) and place else place
            if isinstance(place, dict) and place.get("streetAddress"):
                return str(place["streetAddress"])[:80]
        match = _ADDRESS.search(self.outside) or _ADDRESS.search(self.text[-500:])
        return " ".join(match[0].split()) if match else ""

    @cached_property
    def telephone(self) -> str:
        """Return a telephone number outside the text or in the structured data, or ""."""
        import phonenumbers

        for item in self.organisations:
            if number := _telephone(item):
                return number
        for link in self.links:
            if link.url.startswith("tel:"):
                return link.url[4:40]
        region = _region(self.host, self.packet.language)
        lines = (self.outside + "\n" + self.text[-500:]).splitlines()
        dialled = [x[:300] for x in lines if sum(c.isdigit() for c in x[:300]) >= 7]
        for line in dialled[:40]:
            for match in phonenumbers.PhoneNumberMatcher(line, region):
                if not _DATE.fullmatch(match.raw_string):
                    return match.raw_string
        return ""

    @cached_property
    def organisations(self) -> list[dict]:
        """Return the organisations in the structured data, publishers included."""
        found = []
        for item in self.packet.json_ld:
            kinds = str(item.get("@type", "")).lower()
            if any(k in kinds for k in ("organi", "corporation", "business", "agency")):
                found.append(item)
            publisher = item.get("publisher")
            if isinstance(publisher, dict):
                found.append(publisher)
        return found

    @cached_property
    def owner(self) -> str:
        """Return a company's name with its legal form, or the holder of the copyright, or ""."""
        lines = [x for x in self.outside.splitlines() if not _OTHERS_NAME.search(x)]
        for line in reversed(lines):
            if name := _legal_name(line):
                return name
        for line in reversed(lines):
            match = _COPYRIGHT.search(line)
            if match and match[1].strip(" .").lower() not in (self.host, f"www.{self.host}"):
                return match[1].strip(" .,-|")[:60]
        return str(next((x["legalName"] for x in self.organisations if x.get("legalName")), ""))

    @cached_property
    def brand(self) -> str:
        """Return the publisher's or the site's name, or ""."""
        names = (str(x.get("name") or "") for x in self.organisations)
        return next((n for n in names if n.strip()), self.packet.site_name).strip()[:80]


def _telephone(item: dict) -> str:
    """Return the telephone number of an organisation or of its contact point."""
    points = item.get("contactPoint") or []
    for place in (item, *(points if isinstance(points, list) else [points])):
        if isinstance(place, dict) and place.get("telephone"):
            return str(place["telephone"])[:40]
    return ""


def _region(host: str, language: str) -> str:
    """Return the country whose national numbers to read: by top-level domain, else by language."""
    last = host.rpartition(".")[2].upper()
    if last == "UK":
        return "GB"
    if len(last) == 2 and last.isalpha() and last not in ("EU", "IO", "CO", "ME", "TV", "AI"):
        return last
    return {"de": "DE", "fr": "FR", "es": "ES", "it": "IT"}.get(language, "US")


def _legal_name(line: str) -> str:
    """Return the capitalised words that end in a legal form, or ""."""
    forms = cues()["legal_form"]
    parts = line.replace(",", " ").split()
    for i, part in enumerate(parts):
        if (part.strip(".()|;").lower(),) not in forms or not part[:1].isupper():
            continue
        start = i
        while start > 0 and i - start < 5 and parts[start - 1][:1].isupper():
            start -= 1
        if start < i:
            return " ".join(parts[start : i + 1]).strip(" .|;")
    return ""
