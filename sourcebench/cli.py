"""The command line: `sourcebench <stage> <study>`."""

from __future__ import annotations

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
        except (ValueError, OSError) as error:
            raise click.ClickException(str(error)) from None

    return run


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
    """Run all stages: fetch, extract, judge, score."""
    from sourcebench.pipeline import run_stages
    from sourcebench.study import Study

    opened = Study(study) if to is None else Study(study).working_copy(to)
    opened.validate()
    run_stages(opened, offline=offline, say=click.echo)


@main.command()
@STUDY
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the tables and figures.")
@click.option("--build", type=click.Path(path_type=Path), help="Folder of the executed notebooks.")
@click.option("--jobs", type=click.IntRange(1), help="Notebooks at the same time; one a core.")
@click.option("--resamples", default=2000, show_default=True, help="Bootstrap resamples.")
@click.option("--seed", type=int, help="Random seed; by default the study's own.")
@click.argument("notebooks", nargs=-1, type=click.Path(path_type=Path))
@clear_errors
def paper(study: Path, out, build, jobs: int | None, resamples: int, seed, notebooks) -> None:
    """Run the stages and rebuild every table and figure."""
    from sourcebench.pipeline import build_paper

    name = study.resolve().name
    build_paper(
        study,
        build=build or Path("build") / name,
        out=out or Path("figures") / name,
        notebooks=notebooks,
        resamples=resamples,
        seed=seed,
        jobs=jobs,
        say=click.echo,
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
    "--from",
    "base",
    type=click.Path(path_type=Path),
    help="Start the study as a copy of this one, such as data/sample.",
)
@click.option("--system", help="Name of the system, if the file has no column for it.")
@click.option("--add-queries", is_flag=True, help="Take in queries that the study does not have.")
@click.option("--category", help="Intent of queries that are new.")
@clear_errors
def import_(answers: Path, study: Path, base, system, add_queries: bool, category) -> None:
    """Add a file of answers and cited addresses to a study."""
    from sourcebench.importing import import_answers
    from sourcebench.study import Study

    opened = Study(study) if base is None else Study(base).working_copy(study)
    done = import_answers(
        opened,
        answers,
        system=system,
        unknown_queries="add" if add_queries else "refuse",
        category=category,
    )
    click.echo(
        f"{', '.join(done.systems)}: {done.answers} answers, {done.citations} citations, "
        f"{done.no_citations} without citations, {done.empty} empty"
    )
    click.echo(f"next: make paper STUDY={study}")


@main.command()
@click.argument("leaderboard", type=click.Path(path_type=Path))
@clear_errors
def audit(leaderboard: Path) -> None:
    """Check what the numbers of a leaderboard (CSV) say about themselves."""
    from sourcebench.audit import run_audit

    click.echo(run_audit(leaderboard))


@main.command()
@click.argument("study", type=click.Path(path_type=Path))
@clear_errors
def sample(study: Path) -> None:
    """Rebuild the bundled sample study from its web (the folder `web` in it)."""
    from sourcebench.sample import make_sample

    make_sample(study, say=click.echo)


@main.command()
@STUDY
@click.option("--dry-run", is_flag=True, help="Say how many calls it takes, and make none.")
@click.option("--verifier", help="rules, or a judge of study.toml; by default the study's judge.")
@click.option("--cited-only", is_flag=True, help="Verify only against pages cited at a statement.")
@clear_errors
def verify(study: Path, dry_run: bool, verifier: str | None, cited_only: bool) -> None:
    """Check whether the cited pages back what the answers say."""
    from sourcebench.study import Study
    from sourcebench.support.stage import plan_verifying, verify_study

    names = None if verifier is None else [verifier]
    scope = "cited" if cited_only else "response"
    if dry_run:
        click.echo(plan_verifying(Study(study), verifiers=names, scope=scope))
        return
    table = verify_study(Study(study), verifiers=names, scope=scope)
    counts = table.fillna({"verdict": "no verdict"}).groupby(["verifier", "verdict"]).size()
    for (name, verdict), count in counts.items():
        click.echo(f"{name}: {count} {str(verdict).replace('_', ' ')}")


def _stage(name: str, about: str) -> None:
    """Add a command that runs one stage."""

    @main.command(name=name, help=about)
    @STUDY
    @clear_errors
    def stage(study: Path) -> None:
        from importlib import import_module

        from sourcebench.study import Study

        function = getattr(import_module(f"sourcebench.{name}"), f"{name}_study")
        function(Study(study))


_stage("fetch", "Fetch every cited page that is not there yet.")
_stage("extract", "Turn fetched pages into what a judge may see.")
_stage("judge", "Have the pages judged.")
_stage("score", "Turn judgments into source scores.")


if __name__ == "__main__":
    main()
