"""Where a study stands, and all that is known of one source."""

import pytest

from sourcebench.records import Author, Dated, Packet
from sourcebench.status import left_to_read, show, status
from sourcebench.study import Study
from sourcebench.urls import page_id

URL = "https://site.example/a"


@pytest.fixture
def study(tmp_path):
    """Return a study with one page that came, and one that did not."""
    (tmp_path / "study.toml").write_text(
        'title = "T"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n', "utf-8"
    )
    study = Study(tmp_path)
    study.save("queries", [{"query_id": "q1", "text": "?", "category": "social"}])
    study.save(
        "answers", [{"system": "a", "query_id": "q1", "run": 1, "outcome": "ok", "text": "x"}]
    )
    cited = [(1, URL + "?utm_source=x"), (2, URL), (3, "https://gone.example/")]
    study.save(
        "citations",
        [{"system": "a", "query_id": "q1", "run": 1, "rank": r, "url": u} for r, u in cited],
    )
    key = page_id(URL)
    study.save(
        "fetches",
        [
            {"page_id": key, "url": URL, "outcome": "ok", "status": 200},
            {
                "page_id": page_id(cited[2][1]),
                "url": cited[2][1],
                "outcome": "gone",
                "reason": "status 410",
            },
        ],
    )
    packet = Packet(
        key,
        URL,
        text="Sand \x1b[2J moves.",
        authors=(Author("Ines", "meta"),),
        published=Dated("2026-01-02", "json-ld"),
    )
    study.save("packets", [packet.to_dict()])
    study.save("pages", [{"page_id": key, "url": URL, "outcome": "ok", "title": "Sand"}])
    study.save(
        "judgments",
        [
            {
                "judge": "rules",
                "prompt_hash": "h",
                "page_id": key,
                "metric": "FR",
                "score": 5,
                "outcome": "scored",
                "reason": "new",
            },
            {
                "judge": "rules",
                "prompt_hash": "h",
                "query_id": "q1",
                "page_id": key,
                "metric": "CR",
                "outcome": "no_verdict",
            },
        ],
    )
    return study


def test_the_funnel_counts_every_step(study):
    """Cited, fetched, extracted and judged are counted, with outcomes and the reasons for losses."""
    text = status(study)
    assert "3 citations of 2 pages" in text
    assert "2 of 2 pages: 1 gone, 1 ok" in text
    assert "rules: 1 of 2 verdicts" in text
    assert "1 x fetches: status 410" in text


def test_a_fresh_study_has_a_status(tmp_path, study):
    """Stages that have not run count as nothing yet."""
    for name in ("fetches", "pages", "packets", "judgments"):
        study.path(name).unlink()
    assert "0 of 2 pages" in status(study)
    assert "0 verdicts" in status(study)


def test_one_source_is_shown_whole(study):
    """Any spelling finds the page: who cites it, what came, dates, authors, verdicts."""
    text = show(study, "http://www.site.example/a/#part")
    for part in (
        "rank 1: https://site.example/a?utm_source=x",
        "status: 200",
        "author: Ines (meta)",
        "published: 2026-01-02 (json-ld, strong)",
        "rules: FR 5 new",
        "rules for q1: CR - [no_verdict]",
    ):
        assert part in text


def test_pages_can_not_steer_the_terminal(study):
    """Control characters of a page are shown as marks."""
    assert "\x1b" not in show(study, URL)


def test_an_unknown_source_is_an_error(study):
    """An address that nobody cites is named."""
    with pytest.raises(ValueError, match=r"nothing is known of https://other\.example/"):
        show(study, "https://other.example/")


def test_what_is_left_to_read_is_said_with_its_command(study):
    """Pages not fetched, not read, read from an older copy, and none that came: each has its line."""
    said, command = left_to_read(study)
    assert (said, command) == ("", "")
    fetches = study.load("fetches")
    study.save("fetches", fetches.assign(fetched_at="2026-06-02T00:00:00Z"))
    said, command = left_to_read(study)
    assert said == "1 of 1 fetched pages are not read"
    assert command == f"sourcebench extract {study.folder}, or make paper STUDY={study.folder}"
    study.path("packets").unlink()
    study.save("fetches", fetches[fetches["outcome"] == "gone"])
    assert left_to_read(study)[0] == "1 of 2 cited pages are not fetched"
    study.save("fetches", fetches.assign(outcome="gone"))
    assert left_to_read(study) == ("no page came back", f"sourcebench status {study.folder}, which says why")  # fmt: skip
