"""The extraction stage: bounded, resumable, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sourcebench.extract import extract_study
from sourcebench.snapshots import Snapshot, append_snapshot
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
