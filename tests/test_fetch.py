"""Promises of fetching a study's pages, on servers of this machine that misbehave."""

import gzip
import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from servers import play, raw, redirect, reply, reset, script_of, serve_tls, silent, stream
from warcio.archiveiterator import ArchiveIterator

from sourcebench.fetch import fetch_study
from sourcebench.fetch.fetchlog import cited_pages, fetched_pages
from sourcebench.fetch.visits import retry_after
from sourcebench.selection import selected_sources
from sourcebench.snapshots import Snapshot, decoded_body, read_snapshots
from sourcebench.study import WARC, Study, StudyError
from sourcebench.urls import page_id, site

TOML = 'title = "x"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\ntop_k = 50\n'
HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = reply(200, b"<p>hello", HTML)
ROOT = Path(__file__).resolve().parents[1]


def clock():
    """Return a fixed time."""
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def make_study(tmp_path):
    """Return a function that makes a study that cites given addresses."""

    def make(urls, folder="study", **settings):
        settings = {"delay": 0.0, "backoff": 0.01, "deadline": 5.0} | settings
        values = {
            k: f'"{v}"' if isinstance(v, str) else str(v).lower() for k, v in settings.items()
        }
        lines = "".join(f"{name} = {value}\n" for name, value in values.items())
        folder = tmp_path / folder
        folder.mkdir()
        (folder / "study.toml").write_text(TOML + "[fetch]\n" + lines, encoding="utf-8")
        study = Study(folder)
        study.save("queries", [{"query_id": "q", "text": "t", "category": "factual"}])
        cited = {"system": "s", "query_id": "q", "run": 1}
        study.save("citations", [cited | {"rank": i, "url": u} for i, u in enumerate(urls, 1)])
        return study

    return make


def rows_of(study):
    """Return the rows of a study's fetches by address."""
    frame = study.load("fetches")
    plain = frame.astype(object).where(frame.notna(), None)
    return {row["url"]: row for row in plain.to_dict("records")}


@pytest.fixture
def fetch(make_study):
    """Return a function that fetches addresses from a script, and returns rows and server."""

    def run(urls, script, *, refetch=(), ca_file=None, special=None, **settings):
        study = make_study(urls, **settings)
        with play(script) as played:
            played.special = dict(special or {})
            fetch_study(study, resolver=played.resolver, clock=clock, ca_file=ca_file)
        return rows_of(study), played, study

    return run


# --- the cases from the field --------------------------------------------------------------------


def test_grounding_links(shared, fetch):
    """Redirect links lead to one source, keep their way, and an expired one is no dead page."""
    folder = shared / "cases/A-01-grounding-redirect"
    link = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AAAA"
    rows, played, study = fetch(
        [f"{link}{n}" for n in (1, 2, 3)], script_of(folder / "exchange.json")
    )
    first, second, expired = (rows[f"{link}{n}"] for n in (1, 2, 3))
    review = rows["https://rivers.example.org/review?utm_source=vertex"]
    assert review["page_id"] == page_id("https://rivers.example.org/review")
    for row, url in ((first, f"{link}1"), (second, f"{link}2")):
        assert (row["outcome"], row["sha256"], row["final_url"]) == (
            "ok",
            review["sha256"],
            review["final_url"],
        )
        assert row["hops"].split()[0] == url
    assert (expired["outcome"], expired["final_url"], expired["status"]) == (
        "redirector_expired",
        None,
        None,
    )
    sources = selected_sources(study)
    assert sorted(sources["page_id"]) == sorted([review["page_id"], expired["page_id"]])
    assert set(sources["url"].map(site)) == {"example.org", ""}
    landed = study.load("fetches")["final_url"].dropna().map(site)
    assert set(landed) == {"example.org"}
    assert sum("rivers.example.org/review" in url for url in played.asked) == 1


def test_bot_walls(shared, fetch):
    """Refusals are outcomes of their own, with their kind; who asks to wait is asked again."""
    script = script_of(shared / "cases/A-02-bot-wall/exchange.json")
    page = script["https://f.example.org/x"][1]
    script["https://f.example.org/x"] = [reply(429, headers={"Retry-After": "1"}), page]
    urls = [f"https://{name}.example.org/x" for name in "abcdef"]
    rows, played, _ = fetch(urls, script)
    assert [rows[url]["outcome"] for url in urls] == [
        "refused", "ok", "refused", "refused", "refused", "ok"
    ]  # fmt: skip
    kinds = [
        rows[url]["reason"].partition(":")[0] for url in urls if rows[url]["outcome"] == "refused"
    ]
    assert kinds == ["challenge", "forbidden", "login", "legal reasons"]
    asked = [at for at, host in played.at if host == "f.example.org"]
    assert len(asked) == 3  # rules, 429, page
    assert asked[2] - asked[1] >= 1.0


def test_lying_types(shared, fetch):
    """Bodies and announced types are kept as they are; what a page is, others find out."""
    folder = shared / "cases/A-05-pdf"
    script = script_of(folder / "exchange.json")
    rows, _, study = fetch(list(script), script)
    assert {row["outcome"] for row in rows.values()} == {"ok"}
    bodies = {row["url"]: snapshot.body for row, snapshot in fetched_pages(study)}
    pdf, html = ((folder / name).read_bytes() for name in ("report.pdf", "not_a_pdf.html"))
    assert bodies == {
        "https://example.org/report": pdf,
        "https://example.org/report.pdf": pdf,
        "https://example.org/page.pdf": html,
    }
    assert rows["https://example.org/report"]["media_type"] == "text/html"


def test_bytes_of_any_charset(shared, fetch):
    """Pages are stored as bytes, whatever their header claims of their charset."""
    folder = shared / "cases/A-06-charset"
    script = script_of(folder / "exchange.json")
    _, _, study = fetch(list(script), script)
    stored = {snapshot.body for _, snapshot in fetched_pages(study)}
    assert stored == {path.read_bytes() for path in folder.glob("*.html")}


def test_endless_bodies(shared, fetch):
    """Each endless body ends with its own reason, and holds nobody else up."""
    script = script_of(shared / "cases/A-07-endless-body/exchange.json")
    bomb = gzip.compress(bytes(20_000_000))
    script["https://zip.example.org/bomb"] = reply(200, bomb, {"Content-Encoding": "gzip", **HTML})
    rows, _, study = fetch(list(script), script, deadline=1.0, max_bytes=2_000_000)
    found = {url.split("/")[2].split(".")[0]: row for url, row in rows.items()}
    assert {name: row["outcome"] for name, row in found.items()} == {
        "radio": "ok", "slow": "timeout", "big": "too_large", "zip": "too_large", "ok": "ok",
    }  # fmt: skip
    assert found["radio"]["reason"] == "audio/mpeg: body not read"
    assert found["radio"]["bytes"] == 0
    assert found["big"]["reason"] == "more than 2000000 bytes"
    assert found["zip"]["reason"] == "more than 2000000 bytes when decompressed"
    radio = next(s for s in read_snapshots(study.folder / WARC) if "radio" in s.url)
    assert radio.truncated == "unspecified"


def test_certificates(shared, fetch):
    """A certificate fault is tried once and told in words; a broken connection is tried again."""
    script = script_of(shared / "cases/A-08-tls-failure/exchange.json")
    script["https://reset.example.org/p"].insert(1, reset)
    faults = {
        "chain.example.org": "tls_cert_verify_failed",
        "old.example.org": "tls_cert_expired",
        "name.example.org": "tls_hostname_mismatch",
    }
    with (
        serve_tls("chain.example.org", faults["chain.example.org"]) as (chain, _, chain_count),
        serve_tls("old.example.org", faults["old.example.org"]) as (old, ca_file, old_count),
    ):
        special = {
            "chain.example.org": ("127.0.0.1", chain, "https"),
            "old.example.org": ("127.0.0.1", old, "https"),
            "name.example.org": ("127.0.0.1", old, "https"),
        }
        rows, played, _ = fetch(list(script), script, ca_file=ca_file, special=special)
    outcomes = {url.split("/")[2]: (row["outcome"], row["reason"]) for url, row in rows.items()}
    assert outcomes["chain.example.org"] == ("tls_error", "unable to get local issuer certificate")
    assert outcomes["old.example.org"] == ("tls_error", "certificate has expired")
    assert outcomes["name.example.org"][0] == "tls_error"
    assert (chain_count["connections"], old_count["connections"]) == (1, 2)
    assert outcomes["reset.example.org"] == ("ok", None)
    assert played.asked.count("reset.example.org/p") == 3


def test_addresses_not_to_visit(shared, fetch):
    """Nothing is asked of inner addresses; each is a row, also where a redirect leads to one."""
    folder = shared / "cases/A-10-ssrf-list"
    urls = (folder / "urls.txt").read_text(encoding="utf-8").split()
    rows, played, study = fetch(urls, script_of(folder / "exchange.json"))
    assert len(rows) == len(urls)
    assert {row["outcome"] for row in rows.values()} == {"not_allowed"}
    assert all(row["reason"].startswith("address not allowed") for row in rows.values())
    assert played.asked == ["example.org/robots.txt", "example.org/ok"]
    assert rows["https://example.org/ok"]["hops"] == "https://example.org/ok"
    assert "http://example.org/x" in rows
    for path in (study.folder / "fetches.csv", study.folder / WARC):
        assert b"secret" not in path.read_bytes()


# --- one row a page, once ------------------------------------------------------------------------


def test_each_page_once(fetch):
    """Spellings of a page are one row; every text that is cited has a row; rows are in order."""
    cited = [
        "https://a.example.org/x",
        "http://www.a.example.org/x/?utm_source=a",
        "https://b.example.org/",
    ]
    cited += [
        "https://dead.example.org/",
        "not a url",
        "file:///etc/hostname",
        "https://a.example.org/gone",
    ]
    script = {
        "https://a.example.org/x": PAGE,
        "https://b.example.org/": redirect("https://a.example.org/x"),
    }
    rows, _, study = fetch(cited, script)
    assert {url: row["outcome"] for url, row in rows.items()} == {
        "https://a.example.org/x": "ok",
        "https://b.example.org/": "ok",
        "https://dead.example.org/": "unreachable",
        "not a url": "unreachable",
        "file:///etc/hostname": "not_allowed",
        "https://a.example.org/gone": "gone",
    }
    assert rows["https://b.example.org/"]["final_url"] == "https://a.example.org/x"
    assert rows["https://b.example.org/"]["hops"] == "https://b.example.org/"
    ids = list(study.load("fetches")["page_id"])
    assert ids == sorted(ids)
    assert set(ids) == set(cited_pages(study))
    study.validate()


def test_nothing_is_asked_twice(make_study):
    """A second run asks nothing; asked to, it fetches the given outcomes again, and only them."""
    study = make_study(["https://a.example.org/x", "https://a.example.org/y"])
    script = {
        "https://a.example.org/x": PAGE,
        "https://a.example.org/y": [reply(500), reply(500), reply(500), PAGE],
    }
    with play(script) as played:
        counts = fetch_study(study, resolver=played.resolver, clock=clock)
        assert counts == {"ok": 1, "server_error": 1}
        played.asked.clear()
        before = (study.folder / "fetches.csv").read_bytes(), (study.folder / WARC).read_bytes()
        assert fetch_study(study, resolver=played.resolver) == counts
        assert (
            (study.folder / "fetches.csv").read_bytes(),
            (study.folder / WARC).read_bytes(),
        ) == before
        assert not played.asked
        counts = fetch_study(study, resolver=played.resolver, refetch=["server_error"])
        assert counts == {"ok": 2}
        assert played.asked == ["a.example.org/robots.txt", "a.example.org/y"]
    with pytest.raises(ValueError, match="'dead' is none of ok, refused"):
        fetch_study(study, refetch=["dead"])


def test_same_web_same_files(make_study):
    """Whatever order answers come in, the same pages make the same bytes."""
    urls = [f"https://h{n % 7}.example.org/{n}" for n in range(40)]
    made = []
    for attempt in range(2):
        chance = random.Random(attempt)
        script = {
            url: reply(200, f"<p>{url}".encode(), HTML, wait=chance.random() / 50) for url in urls
        } | {urls[3]: redirect(urls[4]), urls[5]: redirect(urls[4])}
        study = make_study(urls, folder=f"study{attempt}")
        with play(script) as played:
            fetch_study(study, resolver=played.resolver, clock=clock)
        made.append([(study.folder / name).read_bytes() for name in ("fetches.csv", WARC)])
    assert made[0] == made[1]


def test_replays_byte_for_byte(fetch):
    """What warcio and fastwarc read from the file is what the servers sent, to the byte."""
    bodies = {
        f"https://example.org/{n}": os.urandom(n * 1000) if n % 2 else gzip.compress(b"<p>%d" % n)
        for n in range(6)
    }
    script = {
        url: reply(200, body, HTML if int(url[-1]) % 2 else HTML | {"Content-Encoding": "gzip"})
        for url, body in bodies.items()
    }
    rows, _, study = fetch(list(script), script)
    assert {row["outcome"] for row in rows.values()} == {"ok"}
    path = study.folder / WARC
    with path.open("rb") as file:
        one = {
            r.rec_headers.get_header("WARC-Target-URI"): r.raw_stream.read()
            for r in ArchiveIterator(file, check_digests="raise")
            if r.rec_type == "response"
        }
    with path.open("rb") as file:
        other = {
            r.headers["WARC-Target-URI"]: r.reader.read()
            for r in FastIterator(file, auto_decode="none")
            if r.headers["WARC-Type"] == "response"
        }
    assert one == other == bodies
    sizes = {row["url"]: row["bytes"] for row in rows.values()}
    assert sizes == {r["url"]: len(decoded_body(s)) for r, s in fetched_pages(study)}


# --- manners -------------------------------------------------------------------------------------


def test_politeness(fetch):
    """One host is asked by one at a time, with a pause between pages; others go on meanwhile."""
    urls = [f"https://a.example.org/{n}" for n in range(4)] + ["https://b.example.org/"]
    script = {url: reply(200, b"x", HTML, wait=0.01) for url in urls}
    rows, played, _ = fetch(urls, script, delay=0.15)
    assert {row["outcome"] for row in rows.values()} == {"ok"}
    assert played.most_at_once["a.example.org"] == 1
    pages = [at for at, host in played.at if host == "a.example.org"][1:]
    assert all(later - earlier >= 0.15 for earlier, later in pairwise(pages))
    assert played.asked.index("b.example.org/") < len(played.asked) - 1


def test_more_connections_to_a_host(fetch):
    """How many connections a host gets is a setting."""
    urls = [f"https://a.example.org/{n}" for n in range(6)]
    barrier = threading.Barrier(3)

    def together(sock, head):
        barrier.wait(timeout=5)
        PAGE(sock, head)

    rows, _, _ = fetch(urls, dict.fromkeys(urls, together), per_host=3, respect_robots=False)
    assert {row["outcome"] for row in rows.values()} == {"ok"}


def test_robots_rules(fetch):
    """What robots.txt forbids is not asked for, unless the study says so by name."""
    rules = reply(200, b"User-agent: *\nDisallow: /private\n")
    script = {
        "https://example.org/robots.txt": rules,
        "https://example.org/private": PAGE,
        "https://example.org/": PAGE,
    }
    urls = ["https://example.org/private", "https://example.org/"]
    rows, played, _ = fetch(urls, script)
    assert [rows[url]["outcome"] for url in urls] == ["not_allowed", "ok"]
    assert rows[urls[0]]["reason"] == "robots.txt does not allow it"
    assert "example.org/private" not in played.asked
    rows, played, _ = fetch(urls, script, folder="free", respect_robots=False)
    assert [rows[url]["outcome"] for url in urls] == ["ok", "ok"]
    assert "example.org/robots.txt" not in played.asked


def test_retries(fetch):
    """Faults that can pass are tried again, a set number of times; others are not."""
    script = {
        "https://a.example.org/": [reset, reply(503), PAGE],
        "https://b.example.org/": [reset, reset, reset, PAGE],
        "https://c.example.org/": [reply(404), PAGE],
        "https://d.example.org/": [reply(200, b"abc", length=10), PAGE],
        "https://e.example.org/": [reply(429, headers={"Retry-After": "3600"}), PAGE],
        "https://f.example.org/": [reply(200, b"<html>", {"Content-Encoding": "gzip"}), PAGE],
    }
    rows, played, _ = fetch(list(script), script)
    assert [row["outcome"] for _, row in sorted(rows.items())] == [
        "ok", "unreachable", "gone", "ok", "refused", "server_error"
    ]  # fmt: skip
    assert [played.asked.count(f"{name}.example.org/") for name in "abcdef"] == [3, 3, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        (
            {
                "Retry-After": format_datetime(
                    datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC), usegmt=True
                )
            },
            9,
        ),
        (
            {
                "Retry-After": "Thu, 01 Jan 2026 10:00:30 GMT",
                "Date": "Thu, 01 Jan 2026 10:00:00 GMT",
            },
            30,
        ),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "Mon, 99 Foo 2026"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    """Both forms of Retry-After are read, a date by the server's own clock."""
    answer = Snapshot("https://example.org/", 429, tuple(headers.items()), b"", "")
    assert retry_after(answer, clock()) == seconds


def test_a_silent_host_is_given_up(fetch):
    """A host that gives no answer in time is left after some pages; the rest were not tried."""
    urls = [f"https://slow.example.org/{n}" for n in range(6)] + ["https://ok.example.org/"]
    script = dict.fromkeys(urls, silent) | {urls[-1]: PAGE}
    rows, _, study = fetch(urls, script, deadline=0.1, give_up_after=2, respect_robots=False)
    counts = [row["outcome"] for _, row in sorted(rows.items())]
    assert sorted(counts) == ["not_tried"] * 4 + ["ok"] + ["timeout"] * 2
    left = next(row for row in rows.values() if row["outcome"] == "not_tried")
    assert left["reason"] == "slow.example.org gave no answer in time to 2 pages in a row"
    with play(dict.fromkeys(urls, PAGE)) as played:
        assert fetch_study(study, resolver=played.resolver) == {"ok": 5, "timeout": 2}
    assert len(played.asked) == 4


def test_bad_settings(make_study):
    """A setting that is unknown or out of range is an error that names it."""
    for number, (name, value, message) in enumerate([
        ("speed", 1, r"\[fetch\] speed: unknown setting; known are user_agent, delay"),
        ("delay", "slow", r"\[fetch\] delay must be a number, found 'slow'"),
        ("retries", -1, r"\[fetch\] retries must be 0 or more, found -1"),
        ("per_host", 0, r"\[fetch\] per_host must be 1 or more, found 0"),
        ("respect_robots", 1, r"\[fetch\] respect_robots must be true or false, found 1"),
        ("archive", "google", r"\[fetch\] archive must be \"\" or \"wayback\""),
    ]):  # fmt: skip
        with pytest.raises(StudyError, match=message):
            fetch_study(make_study(["https://example.org/"], folder=f"s{number}", **{name: value}))


# --- redirects -----------------------------------------------------------------------------------


def test_redirects(fetch):
    """Redirects are followed to an end, kept, and bounded; each target is judged anew."""
    chain = {f"https://c.example.org/{n}": redirect(f"/{n + 1}") for n in range(9)}
    script = {
        **chain,
        "https://c.example.org/9": PAGE,
        "https://loop.example.org/": redirect("/"),
        "https://long.example.org/0": redirect("/1"),
        **{f"https://long.example.org/{n}": redirect(f"/{n + 1}") for n in range(1, 30)},
        "https://in.example.org/": redirect("http://127.0.0.1:8080/"),
        "https://pass.example.org/": redirect("http://user:secret@c.example.org/9"),
        "https://js.example.org/": redirect("javascript:alert(1)"),
        "https://none.example.org/": reply(302),
        "https://bad.example.org/": redirect("http://[::1"),
        "https://wrap.example.org/": redirect(
            "https://www.google.com/url?q=https://c.example.org/9"
        ),
    }
    cited = [url for url in script if url[-2:] in ("/0", "g/")]
    rows, played, study = fetch(cited, script)
    outcomes = {url.split("/")[2].split(".")[0]: row["outcome"] for url, row in rows.items()}
    assert outcomes == {
        "c": "ok", "loop": "too_many_redirects", "long": "too_many_redirects", "in": "not_allowed",
        "pass": "not_allowed", "js": "not_allowed", "none": "server_error", "bad": "unreachable", "wrap": "ok",
    }  # fmt: skip
    assert rows["https://c.example.org/0"]["hops"].split() == list(chain)
    assert played.asked.count("loop.example.org/") <= 3
    assert b"secret" not in (study.folder / "fetches.csv").read_bytes()
    kept = {snapshot.url: snapshot.status for snapshot in read_snapshots(study.folder / WARC)}
    assert kept["https://c.example.org/4"] == 302


def test_cookies_between_redirects(fetch):
    """A page that sets a cookie and sends the visitor back to itself is read."""

    def door(sock, head):
        known = b"Cookie: seen=1" in head
        (PAGE if known else redirect("/", **{"Set-Cookie": "seen=1"}))(sock, head)

    rows, _, _ = fetch(["https://example.org/"], {"https://example.org/": door})
    assert rows["https://example.org/"]["outcome"] == "ok"


def test_redirect_link_to_a_cited_page(fetch):
    """A link to a page that is cited itself, or dead, or forbidden, shares its fate."""
    link = "https://t.co/"
    script = {
        f"{link}1": redirect("https://example.org/a", 301),
        f"{link}2": redirect("https://example.org/gone"),
        f"{link}3": redirect("http://10.0.0.1/"),
        f"{link}4": redirect(f"{link}1"),
        f"{link}5": redirect(f"{link}5"),
        f"{link}6": reply(503),
        f"{link}7": PAGE,
        "https://example.org/a": PAGE,
    }
    cited = ["https://example.org/a", *(f"{link}{n}" for n in range(1, 8))]
    rows, played, study = fetch(cited, script)
    assert [rows[url]["outcome"] for url in cited] == [
        "ok", "ok", "gone", "not_allowed", "ok", "too_many_redirects", "server_error", "redirector_expired"
    ]  # fmt: skip
    assert played.asked.count("example.org/a") == 1
    assert "t.co/robots.txt" not in played.asked
    sources = set(selected_sources(study)["page_id"])
    assert page_id("https://example.org/a") in sources
    assert page_id(f"{link}4") not in sources
    study.validate()


def test_redirect_link_is_fetched_again(make_study):
    """Fetched again, a redirect link's page is asked for again too."""
    study = make_study(["https://t.co/1"])
    script = {
        "https://t.co/1": redirect("https://example.org/a"),
        "https://example.org/a": [reply(404), PAGE],
    }
    with play(script) as played:
        assert fetch_study(study, resolver=played.resolver) == {"gone": 2}
        assert fetch_study(study, resolver=played.resolver, refetch=["gone"]) == {"ok": 2}


# --- archives ------------------------------------------------------------------------------------


def test_captures_stand_in(fetch):
    """Where the study asks for it, a capture near the collection day stands in, and is marked."""
    search = (
        "https://web.archive.org/cdx/search/cdx?url=https%3A%2F%2Fexample.org%2F{}&output=json"
        "&fl=timestamp%2Coriginal&filter=statuscode%3A200&sort=closest&closest=20260101120000&limit=1"
    )
    capture = "https://web.archive.org/web/20251230010203id_/https://example.org/gone"
    script = {
        "https://example.org/gone": reply(404, b"not here", HTML),
        "https://example.org/lost": reply(404, b"nor here", HTML),
        "https://example.org/live": PAGE,
        search.format("gone"): reply(
            200, b'[["timestamp","original"],["20251230010203","https://example.org/gone"]]'
        ),
        search.format("lost"): reply(200, b"[]"),
        capture: reply(200, b"<p>as it was", HTML),
    }
    urls = [f"https://example.org/{name}" for name in ("gone", "lost", "live")]
    # A page that was never reached has no address but the cited one.
    script[search.format("caf%C3%A9")] = reply(
        200, b'[["timestamp","original"],["20251230010203","y"]]'
    )
    script["https://web.archive.org/web/20251230010203id_/y"] = reply(200, b"<p>y", HTML)
    urls.append("https://example.org/café#part")
    script["https://example.org/caf%C3%A9"] = [reset] * 9
    rows, played, study = fetch(urls, script, archive="wayback")
    gone, lost, live, never = (rows[url] for url in urls)
    assert (never["outcome"], never["final_url"]) == ("ok", "https://example.org/caf%C3%A9")
    assert (gone["outcome"], gone["archived"], gone["final_url"]) == ("ok", capture, urls[0])
    assert gone["reason"] == "live page: gone (status 404 Status)"
    assert (lost["outcome"], lost["archived"]) == ("gone", None)
    assert lost["reason"].endswith("; archive: no capture found")
    assert (live["outcome"], live["archived"]) == ("ok", None)
    (page,) = (s for row, s in fetched_pages(study) if row["url"] == urls[0])
    assert (page.body, page.url, page.source) == (b"<p>as it was", urls[0], capture)
    assert sum("web.archive.org" in url for url in played.asked) == 5
    rows, played, _ = fetch(urls, script, folder="without")
    assert rows[urls[0]]["outcome"] == "gone"
    assert not any("web.archive.org" in url for url in played.asked)


# --- offline, kills, released studies --------------------------------------------------------------


def test_offline(make_study, monkeypatch):
    """Without network, a page that is not there is not available offline; a later run fetches it."""
    study = make_study(["https://example.org/"])
    with monkeypatch.context() as patch:
        patch.setattr("socket.create_connection", lambda *a, **k: pytest.fail("connected"))
        assert fetch_study(study, offline=True) == {"not_available_offline": 1}
        assert fetch_study(study, offline=True) == {"not_available_offline": 1}
    assert rows_of(study)["https://example.org/"]["fetched_at"] is None
    with play({"https://example.org/": PAGE}) as played:
        assert fetch_study(study, resolver=played.resolver) == {"ok": 1}


def test_released_study(make_study):
    """A released study is read, and not added to."""
    study = make_study(["https://example.org/"])
    with play({"https://example.org/": PAGE}) as played:
        fetch_study(study, resolver=played.resolver, clock=clock)
        study.release()
        assert fetch_study(study, resolver=played.resolver) == {"ok": 1}
        with pytest.raises(StudyError, match="released"):
            fetch_study(study, resolver=played.resolver, refetch=["ok"])


def test_one_process_at_a_time(make_study):
    """Two runs on one study do not write into each other's files."""
    study = make_study(["https://example.org/"])
    inside = []

    def meanwhile(sock, head):
        with pytest.raises(StudyError, match="another process fetches"):
            fetch_study(Study(study.folder))
        inside.append(True)
        PAGE(sock, head)

    with play({"https://example.org/": meanwhile}) as played:
        assert fetch_study(study, resolver=played.resolver) == {"ok": 1}
    assert inside == [True]


RUN = """
import sys
from sourcebench.fetch import fetch_study
from sourcebench.study import Study
port = int(sys.argv[2])
fetch_study(Study(sys.argv[1]), resolver=lambda host, _: ("127.0.0.1", port, "http"), concurrency=4)
"""


def test_kill_at_any_moment(make_study):
    """A killed run leaves readable files and loses at most the pages under way."""
    urls = [f"https://h{n % 5}.example.org/{n}" for n in range(60)]
    study = make_study(urls, respect_robots=False)
    chance, served = random.Random(7), []
    running, target = [], [7]

    def page(sock, head):
        served.append(head.split(b" ")[1].decode())
        reply(200, head * 20, HTML, wait=0.005)(sock, head)
        if len(served) >= target[0]:
            time.sleep(chance.random() / 50)
            running[-1].kill()

    with play(dict.fromkeys(urls, page)) as played:
        command = [sys.executable, "-c", RUN, str(study.folder), str(played.port)]
        for more in (23, 1000):
            running.append(subprocess.Popen(command, cwd=ROOT))
            assert running[-1].wait(timeout=60) == -signal.SIGKILL
            kept = [snapshot.url for snapshot in read_snapshots(study.folder / WARC)]
            lines = (study.folder / "fetches.csv").read_text(encoding="utf-8").split("\n")[1:-1]
            lost = 5 * len(running)  # a kill loses what four threads and their waiting list hold
            assert len(served) - lost <= len(lines) <= len(kept) <= len(served)
            target[0] = len(served) + more
        with (study.folder / "fetches.csv").open("a", encoding="utf-8") as file:
            file.write("abc,https://h0.exam")  # as if the last line had been cut
        counts = fetch_study(study, resolver=played.resolver)
    assert counts == {"ok": 60}
    assert len(served) <= 60 + lost
    assert {snapshot.url for _, snapshot in fetched_pages(study)} == set(urls)
    study.validate()


def test_missing_snapshots_are_told(fetch):
    """If the snapshots do not belong to the table, reading them says so."""
    _, _, study = fetch(["https://example.org/"], {"https://example.org/": PAGE})
    (study.folder / WARC).unlink()
    with pytest.raises(StudyError, match="does not belong to"):
        list(fetched_pages(study))


def test_odd_answers(fetch):
    """Statuses nobody expects, and streams cut in a compressed body, still make rows."""
    script = {
        "https://a.example.org/": reply(999),
        "https://b.example.org/": reply(204),
        "https://c.example.org/": reply(304),
        "https://d.example.org/": reply(418),
        "https://e.example.org/": reply(408),
        "https://f.example.org/": reply(
            200, gzip.compress(b"<p>hello" * 99)[:-9], {"Content-Encoding": "gzip"}
        ),
        "https://g.example.org/": stream(b"<p>a", 2, headers=HTML),
        "https://i.example.org/": redirect("/" + "a" * 9000),
        "https://j.example.org/": raw(b"HTTP/1.1 404 " + b"a" * 9000 + b"\r\n\r\n"),
        "https://h.example.org/": raw(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n<p>old"),
    }
    rows, _, study = fetch(list(script), script)
    assert [row["outcome"] for _, row in sorted(rows.items())] == [
        "refused", "ok", "server_error", "refused", "timeout", "ok", "ok", "ok", "unreachable", "gone"
    ]  # fmt: skip
    assert rows["https://a.example.org/"]["status"] is None
    assert max(len(row["reason"] or "") for row in rows.values()) <= 200
    assert rows["https://f.example.org/"]["reason"] == "the compressed body ends early"
    study.validate()


def test_threads_find_libraries_loaded(make_study):
    """A run in a new process loads the WARC library before its threads do, each from another end."""
    urls = [f"https://h{n}.example.org/" for n in range(12)]
    study = make_study(urls)
    pages = {url: reply(302, b"", {"Location": url + "b"}) for url in urls}
    pages |= {url + "b": reply(200, b"<p>Hello", HTML) for url in urls}
    watch = (
        "import sys, sourcebench.fetch.visits as v; ask = v.Visits.ask\n"
        "v.Visits.ask = lambda *a: ('warcio.warcwriter' in sys.modules or sys.exit(3)) and ask(*a)\n"
    )
    with play(pages) as played:
        command = [sys.executable, "-c", watch + RUN, str(study.folder), str(played.port)]
        assert subprocess.run(command, cwd=ROOT, timeout=60).returncode == 0
    assert len(study.load("fetches")) == 12
