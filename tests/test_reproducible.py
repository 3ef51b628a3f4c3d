"""The same study gives the same bytes, whatever the folder, time zone, locale and hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sourcebench.pipeline import COMPARED, differences

ROOT = Path(__file__).resolve().parents[1]

# Judges and scores two pages, then runs notebooks on the sample; all of it below the current folder.
WORK = """
import sys
from pathlib import Path
root = Path(sys.argv[1])
sys.path.insert(0, str(root / "tests"))
from sourcebench.judge import judge_study
from sourcebench.paper import build
from sourcebench.score import score_study
from studies import tiny_study
study = tiny_study(Path("tiny"))
judge_study(study)
score_study(study)
build(
    [root / "notebooks" / f"{name}.ipynb" for name in sys.argv[2:]],
    parameters={"study": root / "data" / "sample", "out": Path("out"), "resamples": 200, "seed": 5},
    build_dir=Path("build"),
)
"""
# The second is as unlike the first as can be: even the default encoding of files is another.
PLACES = {
    "here": {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1"},
    "in a far away folder/below": {
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONHASHSEED": "4321",
    },
}


def start(folder: Path, environment: dict[str, str], *names: str) -> subprocess.Popen:
    """Start the work in a folder and environment of its own."""
    folder.mkdir(parents=True)
    kept = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    return subprocess.Popen(
        [sys.executable, "-c", WORK, str(ROOT), *names],
        cwd=folder,
        env=kept | environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_two_places_give_the_same_bytes(tmp_path):
    """Judgments, scores, tables and figures are equal byte for byte in two unlike environments."""
    if not (ROOT / "data" / "sample" / "scores.csv").exists():
        pytest.skip("the sample study has no scores yet")
    names = ("01-queries", "06-metric-correlations")
    folders = [tmp_path / place for place in PLACES]
    started = [
        start(folder, environment, *names)
        for folder, environment in zip(folders, PLACES.values(), strict=True)
    ]
    for process in started:
        said = process.communicate()[0].decode(errors="replace")
        assert process.returncode == 0, said
    for part in ("tiny", "out"):
        found = [p for p in (folders[0] / part).iterdir() if p.suffix in COMPARED]
        assert len(found) >= 4
        assert differences(folders[0] / part, folders[1] / part) == []


def test_a_changed_byte_is_reported(tmp_path):
    """The comparison names a file that differs, where it differs, and a file that is missing."""
    for name, text in (("a", "x,1\n"), ("b", "x,2\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text(text)
    (tmp_path / "b" / "more.svg").write_text("<svg/>")
    said = differences(tmp_path / "a", tmp_path / "b")
    assert "more.svg: only in" in said[0]
    assert "table.csv" in said[1]
    assert said[1].endswith("differ at byte 2")
