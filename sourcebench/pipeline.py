"""Runs the stages of a study in order, on the study itself or, where it is released, on a copy."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sourcebench.schema import DERIVED, TABLES
from sourcebench.study import Study, StudyError, sha256, write_atomic

PACKAGE_FOLDER = Path(__file__).resolve().parent
ROOT = PACKAGE_FOLDER.parent
COMPARED = (".csv", ".json", ".tex", ".html", ".svg")


def run_stages(study: Study, *, offline: bool = False, say: Callable[[str], Any] = print) -> None:
    """Run every stage, from collecting to measuring; each does only what is missing.

    Parameters
    ----------
    study
        A study with queries, and with answers and citations or engines to ask for them.
    offline
        Whether engines are not asked and pages that are not there yet stay unfetched.
    say
        Takes one line a stage.
    """
    from sourcebench.collect import collect_study
    from sourcebench.extract import extract_study, reading_along
    from sourcebench.fetch import fetch_study
    from sourcebench.judge import judge_study
    from sourcebench.measures import measure_answers
    from sourcebench.score import score_study
    from sourcebench.support import verify_study

    progress = sys.stderr.isatty()
    if not offline and any("engine" in system for system in study.settings.systems.values()):
        collect_study(study, progress=progress)
        say(f"collect: {_counted(study, 'answers')}{_nothing(study, 'answers', 'answer')}")
    with reading_along(study) as read:  # pages are read while others are still on their way
        fetch_study(study, offline=offline, each=read)
    say(f"fetch: {_counted(study, 'fetches')}{_nothing(study, 'fetches', 'page')}")
    extract_study(study, progress=progress)
    say(f"extract: {_counted(study, 'pages')}")
    judge_study(study, progress=progress)
    say(f"judge: {_counted(study, 'judgments')}")
    verify_study(study)
    say(f"verify: {_counted(study, 'support')}")
    score_study(study)
    say(f"score: {_counted(study, 'scores')}")
    measured = measure_answers(study, **_models(study))
    say(f"measure: {measured['value'].notna().sum()} of {len(measured)} answer measures")


def _models(study: Study) -> dict[str, str]:
    """Return the language model that measures answers: the study's judge, or its jury's first one."""
    from sourcebench.judge import members_of

    known = study.settings.judges
    members = members_of(study, study.settings.judge)
    models = [name for name in members if known.get(name, {}).get("type") == "llm"]
    return {"judge": models[0], "scorer": models[0]} if models else {}


def _counted(study: Study, table: str) -> str:
    """Say how many rows of a table have which outcome."""
    counts = study.load(table)["outcome"].value_counts(sort=True)
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))


def _nothing(study: Study, table: str, what: str) -> str:
    """Say that nothing came back at all, and where the reasons stand."""
    outcomes = study.load(table)["outcome"]
    if outcomes.empty or outcomes.isin(["ok", "no_citations"]).any():
        return ""
    return f"; no {what} came back: see `sourcebench status {study.folder}`"


def prepare(
    folder: Path, build: Path, *, offline: bool = False, say: Callable[[str], Any] = print
) -> Study:
    """Return a study whose stages have run, working on a copy if it is released.

    A copy starts from what the study starts from (answers, citations, snapshots, labels) and
    derives the rest anew whenever an input or the package has changed. A study that is still open
    is worked on in place, and nothing in it is ever derived twice.
    """
    study = Study(folder)
    work = build / "study" if study.released else folder
    mark = build / "stages.json"
    before = state_of(study) | ({"offline": "yes"} if offline else {})
    if (
        mark.exists()
        and json.loads(mark.read_text("utf-8")) == before
        and Study(work).has("scores")
    ):
        say(f"stages of {folder} are up to date")
        return Study(work)
    mark.unlink(missing_ok=True)  # an interrupted run must not count as done
    if study.released:
        study.validate()
        shutil.rmtree(work, ignore_errors=True)
        study = study.working_copy(work)
    run_stages(study, offline=offline or study.folder != folder, say=say)
    build.mkdir(parents=True, exist_ok=True)
    after = before | state_of(Study(folder))
    write_atomic(mark, json.dumps(after, indent=1) + "\n")
    return study


def state_of(study: Study) -> dict[str, str]:
    """Return hashes of what the stages read: the study's files and the package."""
    found = study.folder.rglob("*")
    files = sorted(path for path in found if path.is_file() and path.name[0] != ".")
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(study.folder).as_posix()} {sha256(path)}\n".encode())
    return {"study": total.hexdigest(), "package": package_hash()}


def package_files() -> list[Path]:
    """Return the files of this package that results depend on."""
    kinds = (".py", ".txt", ".csv", ".toml", ".md", ".json")
    return sorted(p for p in PACKAGE_FOLDER.rglob("*") if p.suffix in kinds and p.is_file())


def package_hash() -> str:
    """Return one hash over the package's files."""
    total = hashlib.sha256()
    for path in package_files():
        total.update(f"{path.relative_to(PACKAGE_FOLDER).as_posix()} {sha256(path)}\n".encode())
    return total.hexdigest()


def build_paper(
    folder: Path,
    *,
    build: Path,
    out: Path,
    notebooks: Iterable[str | Path] = (),
    resamples: int = 2000,
    seed: int | None = None,
    jobs: int | None = None,
    offline: bool = False,
    say: Callable[[str], Any] = print,
) -> list[Path]:
    """Run the stages and every notebook of the paper for a study.

    Parameters
    ----------
    folder
        The study.
    build, out
        Folders of the executed notebooks and of the artefacts.
    notebooks
        Paths, or names in `notebooks/` with or without ending; by default all of them.
    resamples, seed
        Passed to the notebooks; by default the study's own seed.
    jobs
        Notebooks at the same time; by default one a core.
    offline
        Whether no engine is asked and no page fetched.

    Returns
    -------
    list of Path
        The notebooks that ran.
    """
    given = {"resamples": resamples, "seed": seed, "jobs": jobs, "offline": offline}
    with alone(build, say):
        return _build_paper(folder, build, out, notebooks, say=say, **given)


@contextmanager
def alone(build: Path, say: Callable[[str], Any] = print) -> Iterator[None]:
    """Hold a build folder for one process inside this block; others wait, and say so."""
    from filelock import FileLock, Timeout

    build.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(build.with_name(f".{build.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{build}: another process is building here; waiting for it to end")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _build_paper(
    folder,
    build,
    out,
    notebooks=(),
    *,
    resamples=2000,
    seed=None,
    jobs=None,
    offline=False,
    say=print,
) -> list[Path]:
    """Run the stages and the notebooks, in a build folder that is ours alone."""
    from sourcebench.paper import build as build_notebooks

    paths = _notebooks(notebooks)
    study = prepare(folder, build, offline=offline, say=say)
    tables = [study.path(name) for name in TABLES if study.has(name)]
    published = sorted((ROOT / "data" / "published").rglob("*.csv"))
    return build_notebooks(
        paths,
        parameters={
            "study": study.folder,
            "out": out,
            "resamples": resamples,
            "seed": study.settings.seed if seed is None else seed,
        },
        build_dir=build,
        inputs=[*tables, study.folder / "study.toml", *published, *package_files()],
        jobs=jobs,
        say=say,
    )


def _notebooks(given: Iterable[str | Path]) -> list[Path]:
    """Return the notebooks to run: files, or names of the project's own."""
    ours = {path.stem: path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))}
    found = []
    for path in map(Path, given):
        named = path.parent.name in ("", "notebooks")
        known = ours.get(path.name.removesuffix(".ipynb")) if named else None
        known = path if path.is_file() else known
        if known is None:
            raise StudyError(f"{path}: no such notebook; notebooks are {', '.join(ours)}")
        found.append(known)
    if not found and not ours:
        raise StudyError(f"{ROOT / 'notebooks'}: no notebooks; run from a checkout of the project")
    return sorted(found) or list(ours.values())


def differences(left: Path, right: Path, names: Iterable[str] | None = None) -> list[str]:
    """Return what differs between two folders of artefacts, byte for byte.

    Compared are files that carry numbers or words (CSV, JSON, TeX, HTML, SVG); PNG files depend on
    the compression library and are left out.
    """
    if names is None:
        found = [p for folder in (left, right) for p in folder.rglob("*") if p.suffix in COMPARED]
        names = {p.relative_to(left if p.is_relative_to(left) else right).as_posix() for p in found}
    said = []
    for name in sorted(names):
        a, b = left / name, right / name
        if not a.exists() or not b.exists():
            said.append(f"{name}: only in {left if a.exists() else right}")
        elif a.read_bytes() != b.read_bytes():
            said.append(f"{name}: {left} and {right} differ at byte {_first_difference(a, b)}")
    return said


def _first_difference(a: Path, b: Path) -> int:
    """Return the place of the first byte that differs."""
    one, two = a.read_bytes(), b.read_bytes()
    pairs = (i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y)
    return next(pairs, min(len(one), len(two)))


def check_release(folder: Path, figures: Path, build: Path, say=print) -> list[str]:
    """Check a released study, rebuild everything from clean, and compare with what was released.

    Returns
    -------
    list of str
        The differences; empty if the release reproduces.

    Raises
    ------
    StudyError
        If the study is not released, or a file of it does not match its hash or schema.
    """
    study = Study(folder)
    if not study.released:
        raise StudyError(f"{folder}: not released, so there is nothing to compare with")
    say(f"{folder}: {sum(study.validate().values())} rows match their schemas and hashes")
    with alone(build, say):
        shutil.rmtree(build, ignore_errors=True)
        _build_paper(folder, build, build / "figures", say=say)
    derived = [TABLES[name].file for name in DERIVED if study.has(name)]
    return [
        *differences(folder, build / "study", derived),
        *differences(figures, build / "figures"),
    ]
