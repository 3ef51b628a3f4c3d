"""Runs the notebooks that rebuild the paper: checked before, atomic while running, checked after."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcebench.study import write_atomic

SHELL = re.compile(r"^\s*(!|%%(bash|sh|script|system|!)\b|%(sx|system)\b)", re.MULTILINE)
KERNEL = "python3"


class NotebookError(ValueError):
    """A notebook can't be trusted to build what it promises; the message says why."""


@dataclass(frozen=True)
class Notebook:
    """A notebook of the paper: where it lies, what it takes, what it promises to write.

    `outputs` come from the notebook's metadata (`sourcebench.outputs`) and are file names below the
    folder that its parameter `out` names.
    """

    path: Path
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]


def read_notebook(path: Path) -> Notebook:
    """Read a notebook and refuse one that could fail or go stale in silence.

    Raises
    ------
    NotebookError
        If there is not exactly one cell tagged `parameters`, a later cell assigns a parameter
        again, a cell runs a shell line, outputs are stored, the kernel is not `python3`, or no
        outputs are declared.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        cells = [(c, "".join(c["source"])) for c in content["cells"] if c["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"{path}: not readable as a notebook: {error}") from None
    tagged = [source for cell, source in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{path}: needs one cell tagged 'parameters', found {len(tagged)}")
    parameters = _assigned(tagged[0], path)
    for cell, source in cells:
        if SHELL.search(source):
            raise NotebookError(
                f"{path}: runs a shell line, whose failure nobody would see:\n{source}"
            )
        again = set() if source == tagged[0] else set(_assigned(source, path)) & set(parameters)
        if again:
            raise NotebookError(
                f"{path}: assigns parameter {sorted(again)[0]!r} again in a later cell"
            )
        if cell.get("outputs") or cell.get("execution_count"):
            raise NotebookError(f"{path}: holds outputs; clear them before committing")
    kernel = content["metadata"].get("kernelspec", {}).get("name")
    if kernel != KERNEL:
        raise NotebookError(f"{path}: names the kernel {kernel!r}; it must be {KERNEL!r}")
    outputs = content["metadata"].get("sourcebench", {}).get("outputs", [])
    if not outputs:
        raise NotebookError(f"{path}: metadata sourcebench.outputs must list the files it writes")
    return Notebook(path, tuple(parameters), tuple(outputs))


def _assigned(source: str, path: Path) -> list[str]:
    """Return the names that a cell assigns at its top level, loops and branches included."""
    import ast

    try:
        tree = ast.parse(re.sub(r"^\s*%.*$", "", source, flags=re.MULTILINE))
    except SyntaxError as error:
        raise NotebookError(f"{path}: a cell does not parse: {error}") from None
    stores = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return list(dict.fromkeys(name.id for name in stores))


def build(
    notebooks: Sequence[Path],
    *,
    parameters: Mapping[str, Any],
    build_dir: Path,
    inputs: Iterable[Path] = (),
    jobs: int | None = None,
    say=print,
) -> list[Path]:
    """Run the notebooks whose inputs changed, and check that each wrote what it promises.

    Parameters
    ----------
    notebooks
        The notebooks to build.
    parameters
        Values for the parameters cells. `out` is the folder of the artefacts; like every path
        it may be relative to the current folder. A name that no notebook takes is an error.
    build_dir
        Folder of the executed notebooks; a record `<name>.json` beside each holds the parameters
        and the hashes that decide whether it runs again.
    inputs
        Files that every notebook depends on, beside itself: study tables, package modules.
    jobs
        Number of notebooks that run at the same time; by default one a core.

    Returns
    -------
    list of Path
        The executed notebooks that ran.

    Raises
    ------
    NotebookError
        On the first notebook that is unfit, fails, or does not write what it declares.
    """
    checked = [read_notebook(path) for path in notebooks]
    for notebook in checked:
        unknown = [name for name in parameters if name not in notebook.parameters]
        if unknown:
            raise NotebookError(
                f"{notebook.path}: takes no parameter {unknown[0]!r}; "
                f"its parameters cell has {', '.join(notebook.parameters)}"
            )
    build_dir.mkdir(parents=True, exist_ok=True)
    out = Path(parameters["out"])
    common = _digest(sorted(inputs))
    stale = [n for n in checked if _record(n, parameters, common, out) != _recorded(n, build_dir)]
    if not stale:
        say(f"{len(checked)} notebooks are up to date")
        return []
    out.mkdir(parents=True, exist_ok=True)
    jobs = jobs or os.cpu_count() or 1
    return _run_all(stale, parameters, build_dir, out, common, jobs, say)


def _run_all(stale, parameters, build_dir, out, common, jobs, say) -> list[Path]:
    """Run notebooks side by side; the first failure stops what has not begun."""
    from concurrent.futures import ThreadPoolExecutor

    from jupyter_core.utils import ensure_event_loop

    from sourcebench.warm import kernel_managers

    # The kernels end before the pool is waited for, so that a Ctrl-C need not wait for them.
    with ThreadPoolExecutor(max_workers=jobs) as pool, kernel_managers() as manager:

        def run(notebook: Notebook) -> Path:
            try:
                done = _run_one(notebook, parameters, build_dir, out, manager)
            finally:
                ensure_event_loop().close()  # the loop that this thread ran its kernel with
            record = _record(notebook, parameters, common, out)
            write_atomic(_record_path(notebook, build_dir), json.dumps(record, indent=1))
            say(f"{notebook.path.stem}: {len(notebook.outputs)} files")
            return done

        futures = [pool.submit(run, notebook) for notebook in stale]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise


def _run_one(notebook: Notebook, parameters, build_dir: Path, out: Path, manager) -> Path:
    """Execute one notebook beside its place, check its artefacts, then move all to their places.

    Until the notebook has ended well, what an earlier run built stays as it is; and nothing of an
    earlier run can pass for what this one should have written.
    """
    import papermill

    partial = build_dir / f"{notebook.path.stem}.partial.ipynb"
    written = build_dir / f"{notebook.path.stem}.partial-files"
    shutil.rmtree(written, ignore_errors=True)
    _record_path(notebook, build_dir).unlink(missing_ok=True)
    try:
        papermill.execute_notebook(
            notebook.path,
            partial,
            parameters=_from(notebook.path.parent, {**parameters, "out": written}),
            kernel_name=KERNEL,
            kernel_manager_class=manager,
            resources={"metadata": {"path": str(notebook.path.parent)}},
            progress_bar=False,
        )
    except papermill.PapermillExecutionError as error:
        raise NotebookError(
            f"{notebook.path}: failed with {error.ename}: {error.evalue}; "
            f"the copy {partial} shows where"
        ) from None
    _check_written(notebook, written)
    for name in notebook.outputs:
        (written / name).replace(out / name)
    written.rmdir()
    return partial.replace(build_dir / notebook.path.name)


def _check_written(notebook: Notebook, written: Path) -> None:
    """Refuse a notebook that wrote less, or more, than it declares."""
    found = (
        {path.name for path in written.iterdir() if path.stat().st_size}
        if written.exists()
        else set()
    )
    for problem, names in (
        ("ended without writing", sorted(set(notebook.outputs) - found)),
        ("wrote, but does not declare,", sorted(found - set(notebook.outputs))),
    ):
        if names:
            raise NotebookError(f"{notebook.path}: {problem} {', '.join(names)}")


def _from(folder: Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Make path parameters hold from a notebook's own folder, where it runs."""
    return {
        name: Path(os.path.relpath(value, folder)).as_posix() if isinstance(value, Path) else value
        for name, value in parameters.items()
    }


def _record_path(notebook: Notebook, build_dir: Path) -> Path:
    return build_dir / f"{notebook.path.stem}.json"


def _recorded(notebook: Notebook, build_dir: Path) -> dict[str, Any] | None:
    """Return what the last successful run of a notebook recorded."""
    path = _record_path(notebook, build_dir)
    if not path.exists() or not (build_dir / notebook.path.name).exists():
        return None
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError:
        return None  # a damaged record proves nothing


def _record(notebook: Notebook, parameters, common: str, out: Path) -> dict[str, Any]:
    """Return what has to be equal for a notebook not to run again."""
    return {
        "notebook": _digest([notebook.path]),
        "inputs": common,
        "parameters": {name: str(value) for name, value in sorted(parameters.items())},
        "outputs": {name: _digest([out / name]) for name in notebook.outputs},
    }


def _digest(paths: Iterable[Path]) -> str:
    """Return one hash over the names and contents of files; a missing file has its own."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0")
        total.update(path.read_bytes() if path.exists() else b"\0missing")
        total.update(b"\0")
    return total.hexdigest()
