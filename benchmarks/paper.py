"""How long `make paper` takes, against the least that running its notebooks can take.

    python benchmarks/paper.py [--study data/sample] [--rounds 3]

Run from the checkout, with the environment's Python. Printed are, in one run:

* all notebooks stale and the stages done, against the same number of empty notebooks that import
  pandas, seaborn, matplotlib.pyplot and scipy.stats, run by plain papermill, each in a fresh
  kernel, as many at a time; both from a standing start, alternating, with the median ratio;
* a second `make paper` with nothing changed;
* `import sourcebench`, and a Python that imports nothing;
* a first `make paper` with all stages.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = "import pandas\nimport seaborn\nimport matplotlib.pyplot\nimport scipy.stats"
SOURCEBENCH = "from sourcebench.cli import main; main()"
FLOOR = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import papermill
def run(path):
    papermill.execute_notebook(path, path.with_suffix(".out.ipynb"), kernel_name="python3", progress_bar=False)
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    list(pool.map(run, sorted(Path(sys.argv[1]).glob("empty-*.ipynb"))))
"""


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--study", type=Path, default=ROOT / "data" / "sample")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    jobs, number = os.cpu_count() or 1, len(list((ROOT / "notebooks").glob("[0-9]*.ipynb")))
    print(f"{number} notebooks, {jobs} at a time, {given.rounds} rounds, medians")
    with tempfile.TemporaryDirectory() as folder:
        compare(given.study.resolve(), Path(folder), number, jobs, given.rounds)
    bare = [python("pass") for _ in range(5)]
    imported = [python("import sourcebench") for _ in range(5)]
    show("import sourcebench", imported, f"target 0.3 s; Python alone {middle(bare):.2f} s")


def compare(study: Path, folder: Path, number: int, jobs: int, rounds: int) -> None:
    """Build once with stages, then alternate stale builds, the floor, and unchanged builds."""
    write_empty(folder, number)
    first = build(study, folder)
    stale, floor, unchanged = [], [], []
    for _ in range(rounds):
        for record in (folder / "build").glob("[0-9]*.json"):
            record.unlink()  # without its record, a notebook counts as never run
        stale.append(build(study, folder))
        unchanged.append(build(study, folder))
        floor.append(python(FLOOR, str(folder), str(jobs)))
    ratios = [ours / least for ours, least in zip(stale, floor, strict=True)]
    show("all notebooks, stages done", stale)
    show("empty notebooks, plain papermill", floor)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{'ratio':34} {middle(ratios):6.2f}     target 1.3; {each}")
    show("nothing changed", unchanged, "target 2 s")
    show("first, with all stages", [first])


def write_empty(folder: Path, number: int) -> None:
    """Write notebooks that only import, one import line a cell."""
    import nbformat

    cells = [nbformat.v4.new_code_cell(line) for line in IMPORTS.splitlines()]
    for place, cell in enumerate(cells):
        cell["id"] = f"c{place}"
    book = nbformat.v4.new_notebook(cells=cells)
    book["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for place in range(number):
        (folder / f"empty-{place}.ipynb").write_text(json.dumps(book), encoding="utf-8")


def build(study: Path, folder: Path) -> float:
    """Return the seconds of what `make paper` runs, in folders of our own."""
    where = ["--build", str(folder / "build"), "--out", str(folder / "figures")]
    return python(SOURCEBENCH, "paper", str(study), *where)


def python(code: str, *arguments: str) -> float:
    """Return the seconds that a fresh Python takes for some code; a failure ends the benchmark."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start


def middle(times: list[float]) -> float:
    """Return the median."""
    return statistics.median(times)


def show(name: str, times: list[float], remark: str = "") -> None:
    """Print one line: what, median, spread."""
    spread = f"({min(times):.2f} to {max(times):.2f})" if len(times) > 1 else ""
    print(f"{name:34} {middle(times):6.2f} s   {spread} {remark}".rstrip())


if __name__ == "__main__":
    main()
