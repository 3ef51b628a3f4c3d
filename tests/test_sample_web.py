"""Promises of the hand-written sample web: complete, closed, invented, labelled in range."""

import csv
import json
import re
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from lxml import html
from pypdf import PdfReader

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample"
WEB = SAMPLE / "web"
TABLES = {"README.md", "pages.csv", "relevance.csv", "perspectives.csv"}
SCORES = ("FA", "NE", "FR", "OA", "AA", "DA", "LC")
UNJUDGED = {"consent-wall", "script-shell", "soft-404", "dead"}
CATEGORIES = ("shopping", "reasoning", "factual", "argumentative", "social")
KINDS_AT_LEAST = {
    "government": 5,
    "university": 3,
    "journal": 4,
    "newspaper": 5,
    "trade-press": 3,
    "encyclopedia": 5,
    "manufacturer": 3,
    "shop": 3,
    "forum": 3,
    "qa": 5,
    "blog": 5,
    "opinion": 3,
    "advocacy": 3,
    "press-release": 3,
    "affiliate-list": 3,
    "content-farm": 3,
    "foreign-language": 3,
    "propaganda": 2,
    "old-page": 2,
    "redirect": 5,
    "tracking-duplicate": 3,
    "dead": 3,
    "medical": 1,
    "updated-old-page": 1,
    "pdf": 1,
    "text": 1,
    "consent-wall": 1,
    "script-shell": 1,
    "paywall": 1,
    "soft-404": 1,
    "parked": 1,
    "hidden-text": 1,
}
PAIRED = re.compile(
    "html|head|title|script|style|header|footer|nav|main|article|section|div|span|h[1-4]|table|tr"
    "|ul|ol|a|button|strong|em|b|i|blockquote|form|aside|time"
)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV of the sample."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def pages() -> list[dict[str, str]]:
    """Return the rows of pages.csv."""
    return read(WEB / "pages.csv")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, str]]:
    """Return the rows of queries.csv."""
    return read(SAMPLE / "queries.csv")


@pytest.fixture(scope="module")
def relevance() -> list[dict[str, str]]:
    """Return the rows of relevance.csv."""
    return read(WEB / "relevance.csv")


@pytest.fixture(scope="module")
def sources(pages) -> dict[str, str]:
    """Return the decoded source text of each file, by its path, the PDF as its extracted text."""
    found = {}
    for row in pages:
        if not row["file"] or row["file"] in found:
            continue
        path = WEB / row["file"]
        if row["file"].endswith(".pdf"):
            found[row["file"]] = "\n".join(p.extract_text() for p in PdfReader(path).pages)
        else:
            raw = path.read_bytes()
            named = re.search(rb"charset=[\"']?(iso-8859-1|windows-1252)", raw[:600])
            found[row["file"]] = raw.decode("cp1252" if named else "utf-8")
    return found


@pytest.fixture(scope="module")
def documents(pages, sources) -> list[tuple[dict[str, str], html.HtmlElement]]:
    """Return each HTML file parsed, beside the first row that serves it."""
    seen, found = set(), []
    for row in pages:
        if row["file"].endswith((".html", ".htm")) and row["file"] not in seen:
            seen.add(row["file"])
            found.append((row, html.document_fromstring(sources[row["file"]])))
    return found


def test_listed_files_are_exactly_those_that_exist(pages):
    """Every file is listed and every listed file exists."""
    there = {p.relative_to(WEB).as_posix() for p in WEB.rglob("*") if p.is_file()} - TABLES
    assert {row["file"] for row in pages if row["file"]} == there


def test_addresses_are_unique_and_hosts_reserved(pages):
    """No address occurs twice and every host ends in .example."""
    urls = [row["url"] for row in pages]
    assert len(urls) == len(set(urls))
    assert all(urlsplit(url).hostname.endswith(".example") for url in urls)
    assert all("#" not in url for url in urls)


def test_web_is_large_and_varied_enough(pages):
    """At least 64 pages on 26 sites can be found, and each kind occurs as often as promised."""
    indexed = [row for row in pages if row["in_index"] == "yes"]
    assert sum(row["status"] == "200" and row["file"] != "" for row in indexed) >= 64
    assert len({".".join(urlsplit(r["url"]).hostname.split(".")[-2:]) for r in indexed}) >= 26
    counts = Counter(row["kind"] for row in pages)
    assert {k: counts[k] for k, n in KINDS_AT_LEAST.items() if counts[k] < n} == {}


def test_web_is_small_enough_to_bundle():
    """All files together stay under 1.5 MB."""
    assert sum(p.stat().st_size for p in WEB.rglob("*") if p.is_file()) < 1_500_000


def test_status_location_and_file_agree(pages):
    """A redirect has a listed target and no file; every other answer of status 200 has a file."""
    urls = {row["url"] for row in pages}
    for row in pages:
        moved = row["status"].startswith("3")
        assert moved == bool(row["location"]) == (row["kind"] == "redirect"), row["url"]
        assert not moved or row["location"] in urls, row["url"]
        assert row["status"] != "200" or row["file"], row["url"]
        assert not (moved and row["file"]), row["url"]
        assert bool(row["file"]) == bool(row["content_type"]), row["url"]
        assert (row["kind"] == "dead") == (row["status"][0] in "45"), row["url"]


def test_index_text_stands_on_a_page_that_answers(pages):
    """An indexed address without readable text of its own names a page that has some."""
    readable = {r["url"] for r in pages if r["status"] == "200" and r["kind"] not in UNJUDGED}
    for row in pages:
        assert row["in_index"] in ("yes", "no"), row["url"]
        assert not row["index_as"] or row["index_as"] in readable, row["url"]
        if row["in_index"] == "yes" and row["url"] not in readable:
            assert row["index_as"], row["url"]


def test_tracking_duplicates_serve_the_clean_page(pages):
    """A tracking duplicate has utm parameters and the file and scores of the page without them."""
    by_url = {row["url"]: row for row in pages}
    for row in pages:
        if row["kind"] == "tracking-duplicate":
            clean = by_url[row["url"].split("?utm_")[0]]
            assert [row[k] for k in ("file", *SCORES)] == [clean[k] for k in ("file", *SCORES)]


def test_scores_are_in_range_and_complete(pages):
    """Scores are 1 to 5, given for each page that can be judged and for no other."""
    for row in pages:
        given = [row[code] for code in SCORES]
        assert set(given) <= {"", "1", "2", "3", "4", "5"}, row["url"]
        walled = row["kind"] == "redirect" and "consent." in row["location"]
        if row["in_index"] == "no" or row["kind"] in UNJUDGED or walled:
            assert not any(given), row["url"]
        elif row["kind"] == "parked":
            assert given[:2] == ["", ""], row["url"]
            assert all(given[2:]), row["url"]
        else:
            assert all(given), row["url"]
            assert row["note"], row["url"]


def test_scores_use_the_whole_range(pages, relevance):
    """Each metric takes each of its five values somewhere."""
    for code in SCORES:
        assert {row[code] for row in pages} - {""} == set("12345"), code
    assert {row["CR"] for row in relevance} == set("12345")


def test_redirects_carry_the_scores_of_their_target(pages):
    """A redirect to a judged page has that page's scores."""
    by_url = {row["url"]: row for row in pages}
    for row in pages:
        if row["kind"] == "redirect" and row["in_index"] == "yes":
            target = by_url[row["location"]]
            assert [row[c] for c in SCORES] == [target[c] for c in SCORES], row["url"]


def test_queries_are_five_in_each_category(queries):
    """There are 25 queries, five in each category; only reasoning ones have a gold answer."""
    assert [q["query_id"] for q in queries] == [f"q{n:02d}" for n in range(1, 26)]
    assert Counter(q["category"] for q in queries) == dict.fromkeys(CATEGORIES, 5)
    assert all(q["dataset"] == "sample" for q in queries)
    assert all(bool(q["gold_answer"]) == (q["category"] == "reasoning") for q in queries)


def test_relevance_names_known_pairs_once(pages, queries, relevance):
    """Each pair is of a known query and an address that can be found, occurs once, has a reason."""
    ids = {q["query_id"] for q in queries}
    indexed = {row["url"] for row in pages if row["in_index"] == "yes"}
    pairs = [(row["query_id"], row["url"]) for row in relevance]
    assert len(pairs) == len(set(pairs))
    assert {q for q, _ in pairs} == ids
    assert {url for _, url in pairs} <= indexed
    assert all(row["CR"] in "12345" and row["reason"] for row in relevance)


def test_every_query_has_five_relevant_pages_of_mixed_quality(pages, queries, relevance):
    """At least five different files have CR of 3 or more, and they differ in quality."""
    by_url = {row["url"]: row for row in pages}
    files = defaultdict(dict)
    for row in relevance:
        page = by_url[row["url"]]
        if int(row["CR"]) >= 3 and page["file"]:
            files[row["query_id"]][page["file"]] = sum(int(page[c]) for c in SCORES)
    for query in queries:
        found = files[query["query_id"]]
        assert len(found) >= 5, query["query_id"]
        assert max(found.values()) - min(found.values()) >= 4, query["query_id"]


def test_failing_and_foreign_pages_are_not_relevant(pages, relevance):
    """A page that shows no text, or not in the language of the query, has CR 1."""
    hopeless = {r["url"] for r in pages if r["kind"] in UNJUDGED | {"foreign-language", "parked"}}
    listed = [row for row in relevance if row["url"] in hopeless]
    assert listed
    assert all(row["CR"] == "1" for row in listed)


def test_gold_answers_stand_on_the_most_relevant_pages(pages, queries, relevance, sources):
    """Every page with CR 4 or 5 for a reasoning query holds its gold answer; two pages or more."""
    file_of = {row["url"]: row["file"] for row in pages}
    for query in queries:
        if query["gold_answer"]:
            gold = re.compile(rf"\b{re.escape(query['gold_answer'])}\b")
            best = [
                file_of[row["url"]]
                for row in relevance
                if row["query_id"] == query["query_id"] and row["CR"] in "45"
            ]
            assert len(best) >= 2, query["query_id"]
            assert [f for f in best if not gold.search(sources[f])] == [], query["query_id"]


def test_gold_answers_take_two_steps(queries):
    """No reasoning query gives its own answer away."""
    reasoning = [q for q in queries if q["gold_answer"]]
    assert len(reasoning) == 5
    assert all(q["gold_answer"].lower() not in q["text"].lower() for q in reasoning)


def test_perspectives_cover_the_argumentative_queries(queries):
    """Each argumentative query has two or three perspectives, and no other query has any."""
    rows = read(WEB / "perspectives.csv")
    counts = Counter(row["query_id"] for row in rows)
    assert set(counts) == {q["query_id"] for q in queries if q["category"] == "argumentative"}
    assert set(counts.values()) <= {2, 3}
    assert len({row["perspective_id"] for row in rows}) == len(rows)
    assert all(row["text"] for row in rows)


def test_every_link_leads_somewhere_listed(pages, documents):
    """Each link of a page is mail, telephone, a place on the page, or a listed address."""
    urls = {row["url"] for row in pages}
    for row, document in documents:
        for href in document.xpath("//a/@href"):
            if href.startswith(("mailto:", "tel:")):
                continue
            assert urldefrag(urljoin(row["url"], href)).url in urls, (row["url"], href)


def test_pages_are_linked_across_sites(documents):
    """A link-based ranking has something to work on: many links lead from one host to another."""
    crossing = set()
    for row, document in documents:
        for href in document.xpath("//a/@href"):
            target = urlsplit(urljoin(row["url"], href))
            if target.hostname and target.hostname != urlsplit(row["url"]).hostname:
                crossing.add((row["url"], target.geturl()))
    assert len(crossing) >= 80


def test_markup_is_balanced(documents, sources):
    """In every page but the old ones each opened structural tag is closed."""

    class Balance(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = Counter()

        def handle_starttag(self, tag, attrs):
            self.open[tag] += bool(PAIRED.fullmatch(tag))

        def handle_endtag(self, tag):
            self.open[tag] -= bool(PAIRED.fullmatch(tag))

    for row, _ in documents:
        if row["kind"] == "old-page":
            continue
        balance = Balance()
        balance.feed(sources[row["file"]])
        assert {t: n for t, n in balance.open.items() if n} in ({}, {"html": -1}), row["file"]


def test_pages_have_titles_and_text(documents, pages):
    """Each HTML page has a title that pages.csv repeats, and all but the shell show text."""
    titles = defaultdict(set)
    for row in pages:
        titles[row["file"]].add(row["title"])
    for row, document in documents:
        title = " ".join(document.findtext(".//title").split())
        assert titles[row["file"]] == {title}, row["file"]
        text = " ".join(document.body.text_content().split())
        assert len(text) > (20 if row["kind"] in UNJUDGED else 90), row["file"]


def test_articles_have_the_length_of_articles(documents):
    """Pages to be judged hold 80 to 900 words, stubs and parked pages aside."""
    for row, document in documents:
        if row["in_index"] == "no" or row["kind"] in UNJUDGED | {"parked", "paywall"}:
            continue
        words = len(document.body.text_content().split())
        assert 80 <= words <= 900, (row["file"], words)


def test_structured_data_is_valid_json(documents):
    """Each JSON-LD block parses and uses the schema.org vocabulary."""
    blocks = [s for _, d in documents for s in d.xpath("//script[@type='application/ld+json']")]
    assert len(blocks) >= 15
    assert all(json.loads(s.text)["@context"] == "https://schema.org" for s in blocks)


def test_heads_differ(documents):
    """Dates and authors stand in different places: meta, JSON-LD, time element, or nowhere."""
    patterns = {
        "json-ld": "//script[@type='application/ld+json']",
        "open graph": "//meta[starts-with(@property, 'og:')]",
        "article date": "//meta[contains(@property, '_time')]",
        "meta author": "//meta[@name='author']",
        "canonical": "//link[@rel='canonical']",
        "time": "//time",
    }
    bare = sum(not any(d.xpath(p) for p in patterns.values()) for _, d in documents)
    assert bare >= 10
    for name, pattern in patterns.items():
        assert sum(bool(d.xpath(pattern)) for _, d in documents) >= 4, name


def test_hidden_text_is_marked_in_its_kind(documents):
    """Text hidden by style occurs on pages of kind hidden-text and nowhere else."""
    hiding = re.compile(r"display:\s*none|left:\s*-\d{3,}px|visibility:\s*hidden")
    for row, document in documents:
        source = html.tostring(document, encoding="unicode")
        assert bool(hiding.search(source)) == (row["kind"] == "hidden-text"), row["file"]


def test_nothing_points_to_real_people_or_places(sources):
    """E-mail and web addresses are reserved ones, and telephone numbers are fictional."""
    for name, text in sources.items():
        for host in re.findall(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)", text):
            assert host.endswith(".example"), (name, host)
        for host in re.findall(r"https?://([\w.-]+)", text):
            assert host.endswith(".example") or host == "schema.org", (name, host)
        for number in re.findall(r"(?<![\d-])(?:\d{3}-)?(\d{3}-\d{4})(?!\d)", text):
            assert re.fullmatch(r"555-01\d\d", number), (name, number)
        for number in re.findall(r"tel:([+\d-]+)", text):
            assert re.search(r"555-?01\d\d$", number), (name, number)


def test_pdf_holds_extractable_text(sources):
    """The PDF yields its title, its authors and its main figure."""
    (text,) = [t for name, t in sources.items() if name.endswith(".pdf")]
    for part in ("Shoreline Change Along the Orrin Coast", "Martin Oyelo", "-0.62 m per year"):
        assert part in text
