"""Running notebooks: what is refused before, what counts as built after."""

import json
import subprocess
from pathlib import Path

import pytest

from sourcebench.paper import NotebookError, build, read_notebook

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def notebook(folder: Path, name: str, *cells: str, outputs=("a.csv",), kernel="python3") -> Path:
    """Write a notebook whose first cell holds the parameters."""
    made = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "execution_count": None,
            "outputs": [],
            "metadata": {"tags": ["parameters"]} if i == 0 else {},
            "source": source,
        }
        for i, source in enumerate(cells)
    ]
    content = {
        "cells": made,
        "metadata": {
            "kernelspec": {"name": kernel, "display_name": "x", "language": "python"},
            "sourcebench": {"outputs": list(outputs)},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


WRITE = "from pathlib import Path\nPath(out).mkdir(exist_ok=True)\n(Path(out) / 'a.csv').write_text(str(seed))"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("seed = 0\nout = ''", "seed = 1"), "assigns parameter 'seed' again"),
        (("seed = 0", "for seed in [1]:\n    pass"), "assigns parameter 'seed' again"),
        (("seed = 0", "!test -f missing.csv"), "runs a shell line"),
        (("seed = 0", "%%bash\nfalse"), "runs a shell line"),
        (("seed = 0", "def broken(:"), "does not parse"),
    ],
)
def test_unfit_notebooks_are_refused(tmp_path, cells, said):
    """Lost parameters and failures that nobody would see are found without running anything."""
    with pytest.raises(NotebookError, match=said):
        read_notebook(notebook(tmp_path, "n", *cells))


@pytest.mark.parametrize("case", ["no_tag", "overridden", "typo"])
def test_known_ways_to_lose_a_parameter(shared, tmp_path, case):
    """A missing tag, a parameter assigned again and a misspelt name each fail the build."""
    source = json.loads(
        (shared / "cases/D-01-parameters-lost" / f"{case}.ipynb").read_text("utf-8")
    )
    source["metadata"]["sourcebench"] = {"outputs": ["a.csv"]}
    path = tmp_path / f"{case}.ipynb"
    path.write_text(json.dumps(source), encoding="utf-8")
    said = {"no_tag": "one cell tagged", "overridden": "again", "typo": "takes no parameter 'sed'"}
    with pytest.raises(NotebookError, match=said[case]):
        build([path], parameters={"sed": 7, "out": tmp_path}, build_dir=tmp_path / "b")


@pytest.mark.parametrize("case", ["exit0", "shell", "swallowed"])
def test_quiet_failures_fail(shared, tmp_path, case):
    """A notebook that ends early, or swallows its error, does not pass for want of an exception."""
    source = json.loads((shared / "cases/D-02-quiet-failures" / f"{case}.ipynb").read_text("utf-8"))
    cell = source["cells"][0] | {
        "id": "p",
        "metadata": {"tags": ["parameters"]},
        "source": "out = ''",
    }
    source["cells"].insert(0, cell)
    source["metadata"]["sourcebench"] = {"outputs": ["figure1.svg"]}
    path = tmp_path / f"{case}.ipynb"
    path.write_text(json.dumps(source), encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figure1.svg").write_text("left over from an earlier run")
    with pytest.raises(NotebookError, match=r"without writing figure1\.svg|shell line"):
        build([path], parameters={"out": tmp_path / "out"}, build_dir=tmp_path / "b")


def test_foreign_kernels_and_stored_outputs_are_refused(shared, tmp_path):
    """A committed notebook names the plain kernel and holds no outputs."""
    with pytest.raises(NotebookError, match="names the kernel 'my-laptop-env'"):
        read_notebook(notebook(tmp_path, "k", "seed = 0", kernel="my-laptop-env"))
    path = notebook(tmp_path, "o", "seed = 0")
    path.write_text(path.read_text().replace('"outputs": []', '"outputs": [{}]'))
    with pytest.raises(NotebookError, match="holds outputs"):
        read_notebook(path)


def test_build_runs_once_and_again_after_a_change(tmp_path):
    """Nothing changed, nothing runs; a changed input or a removed artefact runs again."""
    path = notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE)
    data = tmp_path / "table.csv"
    data.write_text("1")
    given = {
        "parameters": {"seed": 7, "out": tmp_path / "o"},
        "build_dir": tmp_path / "b",
        "say": str,
    }
    assert build([path], inputs=[data], **given) == [tmp_path / "b" / "n.ipynb"]
    assert (tmp_path / "o" / "a.csv").read_text() == "7"
    assert build([path], inputs=[data], **given) == []
    (tmp_path / "o" / "a.csv").write_text("8")
    assert build([path], inputs=[data], **given)
    assert (tmp_path / "o" / "a.csv").read_text() == "7"
    data.write_text("2")
    assert build([path], inputs=[data], **given)
    record = json.loads((tmp_path / "b" / "n.json").read_text())
    assert record["parameters"]["seed"] == "7"


def test_a_failed_notebook_fails_every_time(tmp_path):
    """A failure names the notebook and the error, leaves no artefact, and is not taken for built."""
    path = notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE, "raise KeyError('engine b')")
    given = {"parameters": {"out": tmp_path / "o"}, "build_dir": tmp_path / "b"}
    for _ in range(2):
        with pytest.raises(NotebookError, match=r"n\.ipynb: failed with KeyError: 'engine b'"):
            build([path], **given)
        assert not (tmp_path / "b" / "n.ipynb").exists()
        assert not (tmp_path / "o" / "a.csv").exists()
    assert (tmp_path / "b" / "n.partial.ipynb").exists()


def test_a_failure_leaves_what_was_built_before(tmp_path):
    """Artefacts of the last good run stay until the next one has ended well."""
    given = {"parameters": {"out": tmp_path / "o"}, "build_dir": tmp_path / "b", "say": str}
    build([notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE)], **given)
    bad = notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE, "raise ValueError")
    with pytest.raises(NotebookError, match="failed with ValueError"):
        build([bad], **given)
    assert (tmp_path / "o" / "a.csv").read_text() == "0"


def test_undeclared_files_are_refused(tmp_path):
    """A file that the notebook does not declare is an error, so that none goes stale unseen."""
    more = WRITE.replace("a.csv", "b.csv")
    path = notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE, more)
    with pytest.raises(NotebookError, match=r"does not declare, b\.csv"):
        build([path], parameters={"out": tmp_path / "o"}, build_dir=tmp_path / "b")


def test_warm_kernels_share_no_state(tmp_path):
    """What one notebook does to a library, another does not see."""
    first = "import numpy, random\nnumpy.seen = True\nrandom.seed(1)"
    second = "import numpy\nassert not hasattr(numpy, 'seen')"
    paths = [
        notebook(tmp_path, "a", "seed = 0\nout = ''", first, WRITE),
        notebook(
            tmp_path,
            "b",
            "seed = 0\nout = ''",
            second,
            WRITE.replace("a.csv", "b.csv"),
            outputs=["b.csv"],
        ),
    ]
    build(paths, parameters={"out": tmp_path / "o"}, build_dir=tmp_path / "x", jobs=1)


COMMITTED = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_notebooks_are_fit(path):
    """Every notebook of the paper passes the checks and takes the common parameters."""
    checked = read_notebook(path)
    assert set(checked.parameters) == {"study", "out", "resamples", "seed"}


def test_each_artefact_has_one_notebook():
    """No file is written by two notebooks, and each is saved under a name that stands in its code."""
    owners: dict[str, str] = {}
    for path in COMMITTED:
        for name in read_notebook(path).outputs:
            assert name not in owners, f"{name}: {owners[name]} and {path.stem}"
            owners[name] = path.stem


def test_committed_notebooks_hold_no_logic():
    """A notebook loads, calls and shows; it defines at most one function and imports no stage."""
    for path in COMMITTED:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        source = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        assert source.count("def ") <= 1, path.stem
        assert len(source.splitlines()) < 60, path.stem


def test_the_command_line_starts_light():
    """Asking for help does not import the heavy libraries."""
    import sys

    code = (
        "import sys, sourcebench, sourcebench.cli; "
        "heavy = {'pandas', 'scipy', 'statsmodels', 'trafilatura', 'openai', 'matplotlib'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_damaged_record_proves_nothing(tmp_path):
    """A record that a kill cut off makes the notebook run again, and is no error."""
    path = notebook(tmp_path, "n", "seed = 0\nout = ''", WRITE)
    given = {"parameters": {"out": tmp_path / "o"}, "build_dir": tmp_path / "b", "say": str}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "n.ipynb").write_text("{}")
    (tmp_path / "b" / "n.json").write_text('{"notebook": "ab')
    assert build([path], **given) == [tmp_path / "b" / "n.ipynb"]
