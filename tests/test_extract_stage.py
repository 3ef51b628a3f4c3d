"""The extraction stage: bounded, resumable, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sourcebench.extract import extract_study, reading_along, stage
from sourcebench.snapshots import Snapshot, append_snapshot, encode_snapshot, read_snapshots
from sourcebench.study import WARC, Study
from sourcebench.urls import page_id

TEXT = "<p>Sand moves along the coast with the waves of every storm, and dams hold it back.</p>" * 8
PAGES = {
    "https://site.example/a": f"<html><title>Sand</title><body><article>{TEXT}</article></body></html>",
    "https://site.example/b": f"<html><title>Dams</title><body><article>{TEXT}</article></body></html>",
}


@pytest.fixture
def study(tmp_path):
    """Return a study whose two pages have been fetched, and a third that has not."""
    (tmp_path / "study.toml").write_text(
        'title = "T"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n', "utf-8"
    )
    study = Study(tmp_path)
    rows = [{"page_id": "gone", "url": "https://gone.example/", "outcome": "gone"}]
    for url, body in PAGES.items():
        fetched = "2026-06-01T12:00:00Z"
        headers = (("Content-Type", "text/html; charset=utf-8"),)
        append_snapshot(tmp_path / WARC, Snapshot(url, 200, headers, body.encode(), fetched))
        rows.append(
            {
                "page_id": page_id(url),
                "url": url,
                "final_url": url,
                "outcome": "ok",
                "fetched_at": fetched,
            }
        )
    study.save("fetches", rows)
    return study


def test_each_page_that_came_gets_a_packet_and_a_row(study):
    """Packets and pages agree, in the order of the pages; what did not come has neither."""
    assert extract_study(study) == {"ok": 2}
    pages = study.load("pages")
    assert pages["page_id"].tolist() == sorted(page_id(url) for url in PAGES)
    assert set(pages["title"]) == {"Sand", "Dams"}
    assert study.load("packets")["page_id"].tolist() == pages["page_id"].tolist()


def test_a_run_is_taken_up_where_it_stopped(study):
    """A packet that is there is kept as it is, and a half-written one is made anew."""
    extract_study(study)
    whole = study.path("packets").read_bytes()
    first, second = whole.decode().splitlines()
    marked = json.loads(first) | {"title": "kept"}
    study.path("packets").write_text(json.dumps(marked) + "\n" + second[:50], encoding="utf-8")
    extract_study(study)
    titles = [record["title"] for record in study.load("packets")["record"]]
    assert titles[0] == "kept"
    assert titles[1] == json.loads(second)["title"]


def test_a_run_with_nothing_to_do_touches_nothing(study):
    """Tables that stay the same keep their time, so that later stages have nothing to do either."""
    extract_study(study)
    before = {name: study.path(name).stat().st_mtime_ns for name in ("packets", "pages")}
    extract_study(study)
    assert {name: study.path(name).stat().st_mtime_ns for name in before} == before


def test_a_page_fetched_again_is_read_again(study):
    """A packet of an earlier visit does not stand for a later one."""
    extract_study(study)
    rows = study.load("fetches")
    rows["fetched_at"] = rows["fetched_at"].where(rows["outcome"] != "ok", "2026-06-02T12:00:00Z")
    study.save("fetches", rows)
    extract_study(study)
    seen = {record["fetched_at"] for record in study.load("packets")["record"]}
    assert seen == {"2026-06-02T12:00:00Z"}


def test_a_page_that_takes_too_long_fails_alone_and_is_tried_again(study):
    """A page over its processor time gets the outcome failed and the reason; the next run retries."""
    assert extract_study(study, seconds=0.0001) == {"failed": 2}
    assert study.load("pages")["reason"].str.contains("took ").all()
    assert extract_study(study) == {"ok": 2}


def test_a_missing_snapshot_is_a_reason(study):
    """A page without a snapshot is not read as empty."""
    (study.folder / WARC).unlink()
    assert extract_study(study) == {"failed": 2}
    assert study.load("pages")["reason"].str.contains("no snapshot").all()


def test_a_script_may_call_the_stage_at_its_top_level(study, tmp_path):
    """Child processes do not run the caller's script again, so no guard is needed in it."""
    script = tmp_path / "script.py"
    script.write_text(
        "from sourcebench.extract import extract_study\n"
        "from sourcebench.study import Study\n"
        f"print(extract_study(Study({str(study.folder)!r}), workers=1))\n",
        encoding="utf-8",
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, script],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "{'ok': 2}\n", done.stderr[-500:]


# --- reading while others are fetched ------------------------------------------------------------


def encoded_pages(study):
    """Return the rows of the pages that came with their encoded snapshots."""
    rows = study.load("fetches").query("outcome == 'ok'").astype(object)
    rows = rows.where(rows.notna(), None).to_dict(orient="records")
    places = {s.url: s for s in read_snapshots(study.folder / WARC)}
    return [(row, encode_snapshot(places[row["final_url"]])) for row in rows]


def test_reading_along_makes_the_same_files(study, tmp_path):
    """Pages read while others are fetched give the packets and rows that reading afterwards gives."""
    with reading_along(study) as read:
        for row, encoded in encoded_pages(study):
            read(row, encoded)
    assert len(study.load("packets")) == 2
    assert not study.has("pages")
    assert extract_study(study) == {"ok": 2}
    along = [study.path(name).read_bytes() for name in ("packets", "pages")]
    for name in ("packets", "pages"):
        study.path(name).unlink()
    extract_study(study)
    assert [study.path(name).read_bytes() for name in ("packets", "pages")] == along


def test_reading_along_leaves_out_what_is_read_later(study, monkeypatch):
    """A page with a packet is not read twice, and too many waiting pages are left to the stage."""
    extract_study(study)
    before = study.path("packets").read_bytes()
    with reading_along(study) as read:
        for row, encoded in encoded_pages(study):
            read(row, encoded)
    assert study.path("packets").read_bytes() == before
    study.path("packets").unlink()
    monkeypatch.setattr(stage, "HELD_BYTES", 10)
    with reading_along(study) as read:
        for row, encoded in encoded_pages(study):
            read(row, encoded)
    assert study.load("packets").empty
    assert extract_study(study) == {"ok": 2}


def test_a_page_that_fails_along_the_way_is_tried_again(study):
    """A page beyond its limit is a failed packet, which the stage reads anew; bad bytes end no run."""
    (one, encoded), (other, _) = encoded_pages(study)
    with reading_along(study) as read:
        read(other, b"no snapshot")
        read(one, encoded)
    outcomes = {r["page_id"]: r["outcome"] for r in study.load("packets")["record"]}
    assert outcomes == {one["page_id"]: "ok", other["page_id"]: "failed"}
    assert extract_study(study) == {"ok": 2}


def interrupted(study):
    """Read along, and end as Ctrl-C ends a fetch."""
    with reading_along(study) as read:
        for row, encoded in encoded_pages(study):
            read(row, encoded)
        raise KeyboardInterrupt


def test_an_interrupted_fetch_stops_the_readers(study):
    """An error in the block ends it at once, and the stage does what is missing."""
    with pytest.raises(KeyboardInterrupt):
        interrupted(study)
    assert extract_study(study) == {"ok": 2}
