"""Builds the whole paper twice, in two unlike places, and compares every artefact byte for byte.

    python benchmarks/reproduce.py [--study data/sample]

Run from the checkout. The places differ in absolute path, current folder, time zone, locale,
default encoding, hash seed and number of notebooks at a time. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sourcebench.pipeline import COMPARED, differences

ROOT = Path(__file__).resolve().parents[1]
WORK = "from sourcebench.cli import main; main()"
PLACES = (
    ("one", "2", {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}),
    (
        "far away/and deeper/two",
        "1",
        {
            "TZ": "Asia/Tokyo",
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONHASHSEED": "4321",
        },
    ),
)


def main() -> None:
    """Build in both places, print what was compared, and fail if it differs."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--study", type=Path, default=ROOT / "data" / "sample")
    study = arguments.parse_args().study.resolve()
    with tempfile.TemporaryDirectory() as folder:
        built = [paper(study, Path(folder) / place, jobs, env) for place, jobs, env in PLACES]
        found = []
        for part in ("figures", "build/study"):
            left, right = (place / part for place in built)
            files = [p for p in left.rglob("*") if p.suffix in COMPARED]
            found += differences(left, right)
            print(f"{part}: {len(files)} files compared")
    print("\n".join(found) or "the same, byte for byte")
    sys.exit(bool(found))


def paper(study: Path, place: Path, jobs: str, environment: dict[str, str]) -> Path:
    """Copy the study to a place and build the paper there."""
    place.mkdir(parents=True)
    shutil.copytree(study, place / "study")
    kept = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    where = ["--build", "build", "--out", "figures", "--jobs", jobs]
    subprocess.run(
        [sys.executable, "-c", WORK, "paper", "study", *where],
        cwd=place,
        env=kept | environment | {"PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return place


if __name__ == "__main__":
    main()
