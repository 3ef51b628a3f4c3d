"""The command line: `sourcebench <stage> <study>`."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

STUDY = click.argument("study", type=click.Path(path_type=Path))


def clear_errors(command: Callable) -> Callable:
    """Turn an error about the input or a file into one line and exit code 1."""

    @wraps(command)
    def run(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except OSError as error:
            raise click.ClickException(_file_error(error)) from None
        except ValueError as error:
            raise click.ClickException(str(error)) from None

    return run


def _file_error(error: OSError) -> str:
    """Say in plain words which file or folder could not be used, and why."""
    if error.errno is None:  # an error of the network, in its own words
        return str(error)
    why = {
        errno.ENOENT: "no such file or folder",
        errno.EISDIR: "is a folder, where a file is needed",
        errno.ENOTDIR: "a file stands where a folder is needed",
        errno.EEXIST: "is there already",
        errno.EACCES: "can't be read or written: no permission",
        errno.EPERM: "can't be read or written: no permission",
        errno.EROFS: "can't be written: the disk is read-only",
        errno.ENOSPC: "can't be written: the disk is full",
        errno.ENAMETOOLONG: "the name is too long",
    }.get(error.errno, str(error.strerror))
    path = error.filename if error.filename2 is None else error.filename2
    return why if path is None else f"{path}: {why}"


def _enough_resamples(_context, _option, given: int) -> int:
    """Refuse so few resamples that no percentile of them is an interval."""
    if given < 100:
        raise click.BadParameter(
            f"{given}: must be 100 or more; the ends of a 95% interval are percentiles of the resamples"
        )
    return given


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sourcebench")
def main() -> None:
    """Measure how good the sources are that AI answers cite, and whether they support what is said."""


@main.command()
@STUDY
@click.option("--to", type=click.Path(path_type=Path), help="Work on a copy in this folder.")
@click.option("--offline", is_flag=True, help="Fetch nothing; use the pages that are there.")
@clear_errors
def run(study: Path, to: Path | None, offline: bool) -> None:
    """Run every stage, from collecting answers to scoring their sources."""
    from sourcebench.pipeline import run_stages
    from sourcebench.study import Study

    opened = Study(study)
    if to is not None:
        opened = Study(to) if (to / "study.toml").exists() else opened.working_copy(to)
    opened.validate()
    run_stages(opened, offline=offline, say=click.echo)


@main.command()
@STUDY
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the tables and figures.")
@click.option("--build", type=click.Path(path_type=Path), help="Folder of the executed notebooks.")
@click.option("--jobs", type=click.IntRange(1), help="Notebooks at the same time; one a core.")
@click.option(
    "--resamples",
    default=2000,
    show_default=True,
    callback=_enough_resamples,
    help="Bootstrap resamples, 100 or more.",
)
@click.option("--seed", type=int, help="Random seed; by default the study's own.")
@click.option("--offline", is_flag=True, help="Ask and fetch nothing; what is not there is a gap.")
@click.argument("notebooks", nargs=-1)
@clear_errors
def paper(study: Path, out, build, notebooks, **options) -> None:
    """Run the stages and rebuild every table and figure, or only those of NOTEBOOKS (04-leaderboard)."""
    from sourcebench.pipeline import build_paper

    name = study.resolve().name
    build_paper(
        study,
        build=build or Path("build") / name,
        out=out or Path("figures") / name,
        notebooks=notebooks,
        say=click.echo,
        **options,
    )


@main.command()
@STUDY
@clear_errors
def status(study: Path) -> None:
    """Show how many sources got how far, and what was lost why."""
    from sourcebench.status import status as stand
    from sourcebench.study import Study

    click.echo(stand(Study(study)))


@main.command()
@STUDY
@click.argument("url")
@clear_errors
def show(study: Path, url: str) -> None:
    """Print all that is known of one source."""
    from sourcebench.status import show as known
    from sourcebench.study import Study

    click.echo(known(Study(study), url))


@main.command()
@STUDY
@clear_errors
def validate(study: Path) -> None:
    """Check every table of a study, and its hashes if it is released."""
    from sourcebench.study import Study

    for name, rows in Study(study).validate().items():
        click.echo(f"{name}: {rows} rows")


@main.command()
@STUDY
@clear_errors
def release(study: Path) -> None:
    """Freeze a study: write datapackage.json with schemas and SHA-256."""
    from sourcebench.study import Study

    click.echo(f"wrote {Study(study).release()}")


@main.command()
@STUDY
@click.option("--figures", type=click.Path(path_type=Path), help="Released tables and figures.")
@click.option("--build", type=click.Path(path_type=Path), help="Folder for the rebuild.")
@clear_errors
def check(study: Path, figures, build) -> None:
    """Rebuild a released study from clean and compare it with the release, byte for byte."""
    from sourcebench.pipeline import check_release

    name = study.resolve().name
    found = check_release(
        study,
        figures or Path("figures") / name,
        build or Path("build") / f"check-{name}",
        click.echo,
    )
    for line in found:
        click.echo(line)
    if found:
        raise click.ClickException(f"{len(found)} files differ from the release")
    click.echo("the release reproduces, byte for byte")


@main.command(name="import")
@click.argument("answers", type=click.Path(path_type=Path))
@click.option("--study", required=True, type=click.Path(path_type=Path), help="Study to add to.")
@click.option(
    "--from", "base", type=click.Path(path_type=Path), help="Start --study as a copy of this."
)
@click.option("--title", help="Title of a study made with --from.")
@click.option("--system", help="Name of the system, if the file has no column for it.")
@click.option("--add-queries", is_flag=True, help="Take in queries that the study does not have.")
@click.option("--category", help="Intent of queries that are new, any word.")
@click.option("--replace", is_flag=True, help="Replace answers that the study has already.")
@click.option(
    "--keep-broken",
    is_flag=True,
    help="Keep broken addresses as citations not fetched, repeated answers as runs.",
)
@click.option("--engine", help="Engine that raw replies come from, where it can't be told.")
@click.option(
    "--glued-markers", is_flag=True, help="Read digits after words as markers (said14 for [1][4])."
)
@click.option(
    "--field", "fields", multiple=True, help="Where a column is in the file: answer=path.to.it."
)
@click.option("--check", is_flag=True, help="Only say, row by row, what is wrong with the file.")
@clear_errors
def import_(answers: Path, study: Path, base, title, check: bool, replace: bool, **options) -> None:
    """Add a file, or folder of raw replies, with answers and cited addresses to a study.

    A file of ExpertQA becomes a study of its own, with statements, evidence and experts' labels; the
    word `expertqa` in place of a file pulls its public split.
    """
    from sourcebench.collect.importing import check_answers, import_answers
    from sourcebench.study import Study
    from sourcebench.support.expertqa import is_expertqa

    if str(answers).lower() == "expertqa" or is_expertqa(answers):
        _import_expertqa(answers, study, check)
        return
    if base is not None and (study / "study.toml").exists():
        raise click.ClickException(f"{study} is a study already; leave out --from to add to it")
    if base is None and not (study / "study.toml").exists():
        raise click.ClickException(
            f"{study}: no study here; make an empty one: sourcebench new {study} --template own"
        )
    opened = Study(study if base is None else base)
    given = _reading(**options)
    faults = check_answers(answers, study=opened, **given) if check else []
    if check:
        for fault in faults:
            click.echo(str(fault))
        if faults:
            raise click.ClickException(f"{answers}: {len(faults)} faults")
        click.echo(f"{answers}: can be imported")
        return
    if base is not None:
        _must_be_importable(check_answers(answers, study=opened, **given), answers)
        opened = opened.working_copy(study)
        opened.retitle(title or f"{opened.settings.title} with {answers.stem}")
    done = import_answers(opened, answers, present="replace" if replace else "refuse", **given)
    click.echo(str(done))
    click.echo(f"next: make paper STUDY={study}")


def _import_expertqa(file: Path, folder: Path, check: bool) -> None:
    """Make a study of a file of ExpertQA, or of the public one."""
    from sourcebench.pinned import pinned_file
    from sourcebench.support.expertqa import PUBLIC, described, import_expertqa, read_expertqa

    path = file if file.is_file() else pinned_file(PUBLIC)
    if check:
        click.echo(f"{path}: can be imported, {len(read_expertqa(path))} answers of ExpertQA")
        return
    click.echo(described(import_expertqa(path, folder)))
    click.echo(f"next: make paper STUDY={folder}")


def _must_be_importable(faults: list, path: Path) -> None:
    """Refuse a file before anything is made for it."""
    if faults:
        more = f" ({len(faults) - 1} more; --check lists them)" if len(faults) > 1 else ""
        raise click.ClickException(f"{path}: {faults[0]}{more}")


def _reading(
    system, add_queries: bool, category, keep_broken: bool, engine, glued_markers: bool, fields
) -> dict:
    """Return how an import reads its file."""
    from sourcebench.collect.answerfile import Rules
    from sourcebench.engines import READ

    if engine is not None and engine not in READ:
        raise click.ClickException(f"--engine {engine}: engines are {', '.join(READ)}")
    for field in fields:
        if "=" not in field:
            raise click.ClickException(f"--field {field}: must be column=path.to.it")
    return {
        "system": system,
        "unknown_queries": "add" if add_queries else "refuse",
        "category": category,
        "rules": Rules(
            broken="keep" if keep_broken else "refuse",
            glued="markers" if glued_markers else "no",
            engine=engine,
        ),
        "fields": dict(field.split("=", 1) for field in fields) or None,
    }


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@clear_errors
def submission(file: Path) -> None:
    """Check a submission to the public SourceBench leaderboard by its contract."""
    import json

    from sourcebench.collect.submission import check_submission
    from sourcebench.study import read_text

    faults, advice = check_submission(json.loads(read_text(file)))
    for kind, lines in (("fault", faults), ("advice", advice)):
        for line in lines:
            click.echo(f"{kind}: {line}")
    if faults:
        raise click.ClickException(f"{file}: not valid, {len(faults)} faults")
    click.echo(f"{file}: valid")


@main.command()
@STUDY
@click.option("--system", required=True, help="System whose answers are written.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["collection", "enriched", "bundle"]),
    default="collection",
    show_default=True,
    help="Public SourceBench file: answers, answers with scores, or a submission.",
)
@click.option("--about", multiple=True, help="Field of a submission: submitter_name=...")
@clear_errors
def export(study: Path, system: str, out: Path, form: str, about: tuple[str, ...]) -> None:
    """Write a system's answers as a file of the public SourceBench."""
    import json

    from sourcebench.collect.publicfiles import public_collection
    from sourcebench.collect.submission import answer_url_bundle
    from sourcebench.study import Study, write_atomic

    if about and form != "bundle":
        raise click.ClickException("--about goes with --as bundle only")
    opened, left_out = Study(study), []
    if form == "bundle":
        made, left_out = answer_url_bundle(opened, system, **_about(about))
    else:
        made = public_collection(opened, system, scores=form == "enriched")
    write_atomic(out, json.dumps(made, ensure_ascii=False, indent=1) + "\n")
    for line in left_out:
        click.echo(f"left out: {line}")
    click.echo(f"wrote {out}")


def _about(given: tuple[str, ...]) -> dict:
    """Return the fields of a submission that the command line gives."""
    from sourcebench.collect.submission import ABOUT

    for field in given:
        if "=" not in field:
            raise click.ClickException(f"--about {field}: must be field=value")
        if field.partition("=")[0] not in ABOUT:
            raise click.ClickException(f"--about {field}: fields are {', '.join(ABOUT)}")
    fields = dict(field.split("=", 1) for field in given)
    return {name: True if value == "true" else value for name, value in fields.items()}


@main.command()
@click.argument("leaderboard", type=click.Path(path_type=Path))
@clear_errors
def audit(leaderboard: Path) -> None:
    """Check what the numbers of a leaderboard (CSV) say about themselves.

    Ends with exit code 1 if a finding is critical: an order or a conclusion does not hold.
    """
    from sourcebench.audit import audit_file

    findings, report = audit_file(leaderboard)
    click.echo(report)
    if any(finding.severity == "critical" for finding in findings):
        raise SystemExit(1)


@main.command()
@click.argument("study", type=click.Path(path_type=Path))
@clear_errors
def sample(study: Path) -> None:
    """Rebuild the bundled sample study from its web (the folder `web` in it)."""
    from sourcebench.sample import make_sample

    make_sample(study, say=click.echo)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--template", default="small", show_default=True, help="own, small or paper.")
@click.option("--system", "systems", multiple=True, help="Preset to ask; may be repeated.")
@click.option("--judge", default="rules", show_default=True, help="rules, or a preset of a model.")
@click.option("--endpoint", help="Address of an OpenAI-compatible chat endpoint of your own.")
@click.option("--model", help="Model to ask there; what it cites is read from its text.")
@click.option("--judge-model", help="Model to judge, at the same endpoint.")
@click.option("--judge-endpoint", help="Another endpoint for the judge.")
@click.option("--key", help="Name of the environment variable with the key, if one is needed.")
@click.option("--queries", help="File of queries, or `public` for those of SourceBench.")
@click.option("--category", help="Intent of queries for which the file gives none.")
@click.option(
    "--runs", type=click.IntRange(1), default=1, show_default=True, help="Answers to each query."
)
@click.option("--title", help="Title of the study; by default the folder's name.")
@clear_errors
def new(folder: Path, systems: tuple[str, ...], **options) -> None:
    """Make a study from a template, and say what to run next."""
    from sourcebench.collect.templates import new_study

    click.echo(f"next: {new_study(folder, systems=systems or None, **options)}")


@main.command()
@STUDY
@click.option(
    "--dry-run", is_flag=True, help="Print what would be asked and its cost; ask nothing."
)
@click.option("--system", "systems", multiple=True, help="Ask only this system; may be repeated.")
@click.option("--limit-cost", type=click.FloatRange(0), help="US dollars that this run may cost.")
@clear_errors
def collect(study: Path, dry_run: bool, systems: tuple[str, ...], limit_cost) -> None:
    """Ask the engines of a study, and keep their replies."""
    from sourcebench.collect import collect_study, describe_plans, plan_study
    from sourcebench.study import Study

    opened, names = Study(study), systems or None
    if dry_run:
        click.echo(describe_plans(plan_study(opened, systems=names)))
        return
    counts = collect_study(opened, systems=names, limit_cost=limit_cost, progress=True)
    answers = opened.load("answers")
    for name, outcomes in counts.items():
        click.echo(f"{name}: {_outcomes(outcomes, answers[answers['system'] == name])}")
    silent = [
        name for name, found in counts.items() if found and found.keys() <= {"failed", "empty"}
    ]
    if silent:
        raise click.ClickException(f"no answer came back from {', '.join(silent)}")


@main.command()
@STUDY
@click.option("--offline", is_flag=True, help="Ask nothing; mark what is not there.")
@click.option("--refetch", multiple=True, help="Outcome whose pages are fetched again.")
@click.option(
    "--pages",
    type=click.Path(path_type=Path),
    help="Take pages from this WARC, or folder of saved pages, and fetch nothing.",
)
@clear_errors
def fetch(study: Path, offline: bool, refetch: tuple[str, ...], pages: Path | None) -> None:
    """Fetch every cited page that is not there yet, or take in pages that you have."""
    from sourcebench.fetch import cited_pages, fetch_study, import_pages
    from sourcebench.status import left_to_read
    from sourcebench.study import Study

    opened = Study(study)
    if pages is not None:
        taken = import_pages(opened, pages)
        fetches = opened.load("fetches")
        there = set(fetches["page_id"][fetches["outcome"] == "ok"])
        cited = cited_pages(opened)
        missing = len(cited.keys() - there)
        click.echo(
            f"{len(taken)} pages taken from {pages}; {missing} of {len(cited)} cited are missing"
        )
    else:
        click.echo(_outcomes(fetch_study(opened, offline=offline, refetch=refetch)))
    _, run = left_to_read(opened)
    if run:
        click.echo(f"next: {run}")


@main.command()
@STUDY
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Pages read at the same time.",
)
@clear_errors
def extract(study: Path, workers: int) -> None:
    """Turn fetched pages into what a judge may see."""
    from sourcebench.extract import extract_study
    from sourcebench.study import Study

    click.echo(_outcomes(extract_study(Study(study), workers=workers, progress=True)))


@main.command()
@STUDY
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost; send nothing.")
@click.option("--judge", "judges", multiple=True, help="Judge to use; may be repeated.")
@click.option("--retry", multiple=True, help="Outcome that is asked again: no_verdict, cut ...")
@click.option(
    "--limit-cost",
    type=click.FloatRange(0),
    help="Cost at the judge's prices that this run may reach.",
)
@click.option(
    "--limit-tokens", type=click.IntRange(0), help="Tokens, in and out, that this run may use."
)
@click.option(
    "--limit-seconds", type=click.FloatRange(0), help="Seconds after which no request is sent."
)
@click.option(
    "--batch", is_flag=True, help="Send all calls through the provider's batch endpoint and wait."
)
@click.option(
    "--poll",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    help="Seconds between two looks at a batch.",
)
@click.option(
    "--anchors",
    type=click.IntRange(1),
    help="Judge only so many fixed pages, again under another name (--judge qwen/july): shows drift.",
)
@clear_errors
def judge(study: Path, dry_run: bool, judges: tuple[str, ...], batch, poll, **options) -> None:
    """Have the pages judged."""
    from sourcebench.judge import judge_study, plan_judging
    from sourcebench.judge.batch import judge_in_batches
    from sourcebench.judge.spending import describe
    from sourcebench.study import Study

    opened, names = Study(study), judges or None
    if dry_run:
        click.echo(describe(plan_judging(opened, judges=names)))
        _say_unread(opened)
        return
    _say_unread(opened, must=True)
    given = _judging(opened, batch=batch, **options)
    if batch:
        for name in judges or (opened.settings.judge,):
            rows = judge_in_batches(opened, name, poll=poll, **given)
    else:
        rows = judge_study(opened, judges=names, progress=True, **given)
    click.echo(_outcomes(rows["outcome"].value_counts().to_dict()))


def _judging(opened, *, batch: bool, retry, anchors, **limits) -> dict:
    """Return the options that were given, as the judging stage takes them."""
    from sourcebench.judge import anchor_pages

    if batch and (retry or anchors):
        raise click.ClickException("--batch goes with neither --retry nor --anchors")
    given = {name: value for name, value in limits.items() if value is not None}
    if retry:
        given["retry"] = retry
    if anchors:
        given["pages"] = anchor_pages(opened, anchors)
    return given


@main.command()
@STUDY
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and cost; send nothing.")
@click.option(
    "--verifier",
    help="rules, semantic, or a language model of study.toml; by default what study.toml names.",
)
@click.option("--cited-only", is_flag=True, help="Verify only against pages cited at a statement.")
@clear_errors
def verify(study: Path, dry_run: bool, verifier: str | None, cited_only: bool) -> None:
    """Check whether the cited pages back what the answers say."""
    from sourcebench.study import Study
    from sourcebench.support.stage import plan_verifying, verify_study

    opened, names = Study(study), None if verifier is None else [verifier]
    scope = "cited" if cited_only else "response"
    if dry_run:
        click.echo(plan_verifying(opened, verifiers=names, scope=scope))
        _say_unread(opened)
        return
    _say_unread(opened, must=True)
    rows = verify_study(opened, verifiers=names, scope=scope)
    stated = opened.load("statements")["outcome"].value_counts().to_dict()
    click.echo(f"sentences: {_outcomes(stated)}")
    name = verifier or opened.settings.verifier
    mine = rows.loc[rows["verifier"] == name, "verdict"].fillna("without a verdict")
    click.echo(f"{name}: {_outcomes(mine.value_counts().to_dict())}")


@main.group()
def labels() -> None:
    """Have people score sources: draw a blinded sheet, take it back when it is filled."""


@labels.command()
@STUDY
@click.argument("sheet", type=click.Path(path_type=Path))
@click.option("--per-system", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=int, help="Seed of the draw; by default the study's own.")
@clear_errors
def draw(study: Path, sheet: Path, per_system: int, seed: int | None) -> None:
    """Draw sources at random and write them to SHEET (CSV), without systems and scores."""
    from sourcebench.labelling import draw_sheet
    from sourcebench.study import Study

    items = draw_sheet(Study(study), sheet, per_system=per_system, seed=seed)
    click.echo(f"{sheet}: {items} items; texts and rubric are in {sheet.with_suffix('')}")
    click.echo(f"next: sourcebench labels take {study} {sheet} --annotator NAME")


@labels.command()
@STUDY
@click.argument("sheet", type=click.Path(path_type=Path))
@click.option("--annotator", required=True, help="Whose scores they are.")
@clear_errors
def take(study: Path, sheet: Path, annotator: str) -> None:
    """Take the scores of a filled sheet into the study."""
    from sourcebench.labelling import take_sheet
    from sourcebench.study import Study

    click.echo(f"{take_sheet(Study(study), sheet, annotator)} labels by {annotator}")


@main.command()
@STUDY
@click.argument("documents", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--count",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="Questions a document.",
)
@click.option("--category", default="factual", show_default=True, help="Intent of the questions.")
@click.option("--model", help="Language model of study.toml; by default the study's judge.")
@clear_errors
def questions(study: Path, documents: tuple[Path, ...], count: int, category: str, model) -> None:
    """Have a language model write questions from documents (text, HTML, PDF); add them as queries."""
    from sourcebench.study import Study
    from sourcebench.support.questions import Document, add_questions

    texts = [Document(path.name, _document_text(path)) for path in documents]
    told = add_questions(Study(study), texts, count=count, category=category, model=model)
    for one in told:
        click.echo(str(one))
    if not any(one.added or one.known for one in told):
        raise click.ClickException("no question could be read from any reply")


def _document_text(path: Path) -> str:
    """Return the text of a document: main text of a web page or PDF, all of any other file."""
    from sourcebench.extract import extract_page

    kinds = {".html": "text/html", ".htm": "text/html", ".pdf": "application/pdf"}
    raw, kind = path.read_bytes(), kinds.get(path.suffix.lower())
    if kind is None:
        return raw.decode("utf-8-sig", errors="replace")
    return extract_page(
        path.name, path.resolve().as_uri(), raw, headers={"Content-Type": kind}
    ).text


@main.command()
@STUDY
@clear_errors
def score(study: Path) -> None:
    """Turn judgments into source scores."""
    from sourcebench.score import score_study
    from sourcebench.study import Study

    click.echo(_outcomes(score_study(Study(study))["outcome"].value_counts().to_dict()))


def _outcomes(counts: dict[str, int], answers=None) -> str:
    """Return outcomes with their counts on a line, and why answers failed."""
    from sourcebench.status import NO_ANSWER, why

    said = []
    for name, count in counts.items():
        reason = why(answers, name) if answers is not None and name in NO_ANSWER else ""
        said.append(f"{count} {name}" + (f" ({reason})" if reason else ""))
    return ", ".join(said) or "nothing to do"


def _say_unread(study, *, must: bool = False) -> None:
    """Say what is left to fetch and to read; fail if it must be done since no page is read at all."""
    from sourcebench.status import left_to_read

    said, run = left_to_read(study)
    if said and must and study.load("packets").empty:
        raise click.ClickException(f"{said}: run {run}")
    if said:
        click.echo(f"{said}: run {run}")


if __name__ == "__main__":
    main()
