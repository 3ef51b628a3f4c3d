"""Promises of the canonical form of addresses and of the identities made from it."""

import base64
import contextlib
import csv
import socket
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.urls import (
    URL_RULES,
    canonical_url,
    is_redirector,
    page_id,
    site,
    split_url,
    unwrap,
    work_id,
)

PAGE = "https://example.org/report"

names = st.text("abcXYZ019_-.~%é", min_size=1, max_size=6).map(lambda n: "n" + n)
values = st.text("abcXYZ019_-.~%+/éü", max_size=6)
queries = st.dictionaries(names, values, max_size=5).map(lambda d: list(d.items()))
hosts = st.sampled_from(
    ["example.org", "www.example.org", "m.www.example.org", "EXAMPLE.org.", "bücher.example"]
)
paths = st.lists(
    st.text("abcZ019.~%é ;=", max_size=6)
    | st.sampled_from(["amp", "..", ".", "x.amp.html", "a;sid=1", "%2e%2E", "x.amp"]),
    max_size=5,
).map(lambda parts: "/" + "/".join(parts))


@st.composite
def addresses(draw):
    """Draw an address with everything in it that the rules look at."""
    scheme, port = (
        draw(st.sampled_from(["http", "https", "HTTPS"])),
        draw(st.sampled_from(["", ":80", ":443", ":8080"])),
    )
    query = "&".join(f"{n}={v}" for n, v in draw(queries))
    fragment = draw(
        st.sampled_from(["", "#top", "#/route/1", "#!/r", "#:~:text=a", "#/r:~:text=a"])
    )
    return (
        f"{scheme}://{draw(hosts)}{port}{draw(paths)}" + (f"?{query}" if query else "") + fragment
    )


def test_groups_of_variants(shared):
    """Spellings of one page get one identity, and different pages different ones."""
    with (shared / "cases/A-04-url-variants/groups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ids = {(row["group"], page_id(row["url"])) for row in rows}
    assert len(ids) == len({group for group, _ in ids}) == len({key for _, key in ids}) == 9


@given(addresses())
def test_canonical_form_is_final(url):
    """The canonical form of a canonical form is itself."""
    once = canonical_url(url)
    assert canonical_url(once) == once
    assert page_id(once) == page_id(url)


@given(queries, st.randoms())
def test_order_of_parameters_does_not_matter(pairs, random):
    """Parameters in any order make one page."""
    shuffled = random.sample(pairs, len(pairs))
    one, other = ("&".join(f"{n}={v}" for n, v in order) for order in (pairs, shuffled))
    assert canonical_url(f"{PAGE}?{one}") == canonical_url(f"{PAGE}?{other}")


@given(
    queries,
    st.sampled_from(
        ["utm_source=chatgpt.com", "fbclid=A1", "gclid=x", "PHPSESSID=9", "amp=1", "source=openai"]
    ),
    st.integers(0, 5),
)
def test_tracking_parameters_do_not_matter(pairs, tracking, place):
    """A tracking parameter changes nothing, wherever it stands."""
    parts = [f"{n}={v}" for n, v in pairs]
    marked = [*parts[:place], tracking, *parts[place:]]
    assert canonical_url(f"{PAGE}?{'&'.join(marked)}") == canonical_url(f"{PAGE}?{'&'.join(parts)}")


@given(st.text() | st.text("ht:/[]@%.\ud800 \n#?&=", max_size=20))
def test_any_text_has_an_identity(text):
    """Whatever an engine cites, it gets an identity, and the only error is ValueError."""
    assert len(page_id(text)) == 16
    assert isinstance(site(text), str)
    assert isinstance(unwrap(text), str)
    with contextlib.suppress(ValueError):
        canonical_url(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/report/", "http://www.example.org:80/report#methods",
        "http://example.org:443/report", "https://m.example.org/report", "https://amp.example.org/report",
        "https://example.org/report/amp/", "https://example.org/report.amp", "https://example.org/report?outputType=amp",
        "https://example.org/./x/../report", "https://example.org/%72eport", "https://example.org/report;jsessionid=A1B2",
        "https://example.org/report?&amp;utm_source=x", " https://example.org/re\nport ",
        "https://www.google.com/url?sa=t&q=https%3A%2F%2Fexample.org%2Freport&ved=2a",
        "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Freport&rut=1",
        "https://l.facebook.com/l.php?u=https%3A%2F%2Fexample.org%2Freport%3Ffbclid%3Dx&h=1",
        "https://r.search.yahoo.com/_ylt=A/RV=2/RE=1/RO=10/RU=https%3a%2f%2fexample.org%2freport/RK=2/RS=x",
        "https://www.google.com/amp/s/example.org/report", "https://example-org.cdn.ampproject.org/c/s/example.org/report",
        "https://www.bing.com/ck/a?!&&p=1&u=a1" + base64.urlsafe_b64encode(PAGE.encode()).decode().rstrip("="),
        "https://www.google.com/url?q=" + quote("https://duckduckgo.com/l/?uddg=" + quote(PAGE, safe=""), safe=""),
    ],
)  # fmt: skip
def test_same_page(url):
    """Twins, needless spellings and links that carry their target are the page itself."""
    assert canonical_url(url) == PAGE


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/Report", "https://example.org/report?page=2", "https://example.org/report?id=1",
        "https://example.org/report?keyword=x", "https://example.org/report?ref=main", "https://example.org/report?gallery=2",
        "https://example.org/report?v=1", "https://example.org/report#/2", "https://example.org/report#!/2",
        "https://example.org:8443/report", "https://data.example.org/report", "https://example.com/report",
        "https://example.org/report.pdf", "https://example.org/%2Freport", "https://example.org/report?a", "https://example.org//report",
    ],
)  # fmt: skip
def test_other_page(url):
    """What may be another page stays another page."""
    assert page_id(url) != page_id(PAGE)


def test_rules_can_be_switched_off():
    """Merging on scheme, www, slash and twins is a choice, rule by rule."""
    url = "http://www.example.org/x/"
    assert canonical_url(url) == "https://example.org/x"
    assert canonical_url(url, keep=("www",)) == "https://www.example.org/x"
    assert canonical_url(url, keep=("scheme", "slash")) == "http://example.org/x/"
    assert (
        canonical_url("https://m.example.org/a/amp", keep=("mobile", "amp"))
        == "https://m.example.org/a/amp"
    )
    assert page_id(url, keep=("www",)) != page_id(url)
    assert URL_RULES == "1"


def test_twin_labels_never_eat_the_domain():
    """A registered name that looks like a twin's label stays."""
    assert [canonical_url(f"https://{h}/") for h in ("m.com", "www.com", "amp.dev")] == [
        "https://m.com/", "https://www.com/", "https://amp.dev/"
    ]  # fmt: skip
    assert canonical_url("https://en.m.wikipedia.org/wiki/A") == "https://en.wikipedia.org/wiki/A"


def test_hosts():
    """Hosts are lower case and punycode; IPv6 hosts have their short form."""
    assert canonical_url("https://BÜCHER.example/") == "https://xn--bcher-kva.example/"
    assert canonical_url("https://[2001:DB8:0::1]:443/a") == "https://[2001:db8::1]/a"
    assert split_url("http://example.org:8080/x?y#z") == (
        "http",
        "example.org",
        8080,
        "/x",
        "y",
        "z",
    )


@pytest.mark.parametrize(
    "url",
    ["not a url", "http://", "https://[::1", "https://ex\ud800.org/", "https://a b.org/", "", "https://a..b/", "https://example.org:x/", "//example.org/", "http://" + "a" * 64 + ".org/"],
)  # fmt: skip
def test_not_an_address(url):
    """A text that is no address is a clear error, yet countable: it has an identity and no site."""
    with pytest.raises(ValueError, match="not a web address"):
        canonical_url(url)
    assert len(page_id(url)) == 16
    assert site(url) == ""


def test_password_is_never_repeated():
    """An address with a password is refused, and the message does not hold the password."""
    for url in (
        "http://user:secret@example.org/x",
        "ftp://user:secret@example.org/x",
        "http://u:secret@[::1/",
    ):
        with pytest.raises(ValueError, match="not a web address") as error:
            canonical_url(url)
        assert "secret" not in str(error.value)


def test_sites_without_network(monkeypatch):
    """Registered domains come from the bundled list; hosts under a private suffix are sites."""
    monkeypatch.setattr(socket, "create_connection", None)
    cases = {
        "https://www.bbc.co.uk/news": "bbc.co.uk",
        "https://someone.github.io/x": "someone.github.io",
        "https://coast.northfield.edu.example/": "northfield.edu.example",
        "https://www.haldenaudio.example/": "haldenaudio.example",
        "http://192.0.2.1/": "192.0.2.1",
        "http://localhost/": "localhost",
        "https://www.google.com/url?q=https://example.org/a": "example.org",
        "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AAAA": "",
    }
    assert {url: site(url) for url in cases} == cases


def test_redirectors_that_hide_their_target():
    """Links of which only a request can tell where they lead are known as such."""
    assert is_redirector("https://vertexaisearch.cloud.google.com/grounding-api-redirect/AAAA1")
    assert is_redirector("https://t.co/abc")
    assert not is_redirector("https://www.google.com/url?q=https://example.org/")
    assert not is_redirector("https://www.bing.com/search?q=x")
    assert not is_redirector("not a url")


def test_addresses_copied_from_html_source():
    """Character references stand for their characters, so both spellings are one page."""
    plain = "https://www.example.org/a/b?x=1&y=2"
    coded = "https&#x3A;&#x2F;&#47;www.example.org&#x2F;a/b?x=1&amp;y=2"
    assert canonical_url(coded) == canonical_url(plain)
    assert site(coded) == "example.org"
    assert unwrap("https://example.org/?a&copy=1") == "https://example.org/?a&copy=1"


def test_works():
    """The forms of one work share an identity: DOI, preprint, PDF and HTML."""
    doi = "doi:10.1038/s41586-020-2649-2"
    assert {work_id(u) for u in (
        "https://doi.org/10.1038/S41586-020-2649-2", "http://dx.doi.org/10.1038/s41586-020-2649-2",
        "https://example.org/doi/full/10.1038/s41586-020-2649-2", "https://example.org/doi/pdf/10.1038/s41586-020-2649-2.pdf?download=true",
        "https://www.nature.com/articles/s41586-020-2649-2.pdf", "https://www.nature.com/articles/s41586-020-2649-2",
    )} == {doi}  # fmt: skip
    assert {work_id(u) for u in (
        "https://arxiv.org/abs/2301.00001", "https://arxiv.org/pdf/2301.00001v2.pdf", "https://doi.org/10.48550/arXiv.2301.00001",
        "https://export.arxiv.org/abs/2301.00001", "https://arxiv.org/html/2301.00001v1",
    )} == {"arxiv:2301.00001"}  # fmt: skip
    assert work_id("https://example.org/a/report.pdf") == work_id(
        "http://www.example.org/a/report.html"
    )
    assert work_id("https://example.org/a/report") != work_id("https://example.org/b/report")
    assert work_id("https://example.org/x?id=2") != work_id("https://example.org/x?id=3")
