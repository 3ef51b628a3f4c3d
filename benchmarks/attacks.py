"""How far pages that try to sway a judge move its scores, against their clean twins.

    PYTHONPATH=.:tests python benchmarks/attacks.py --base-url URL --model NAME [--key JUDGE_API_KEY] [--repeats 3]
    PYTHONPATH=.:tests python benchmarks/attacks.py --local [--attacks 6]

Each attack's page and its twin without the attack are judged on the group `content` as often as
asked. Printed is, for each kind of attack, the mean shift of the scores in points, the largest
one, and how many verdicts were refused as echoes. `--local` takes the small model of
sourcebench.judge.local, which proves the plumbing and says nothing of how robust a judge is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections import defaultdict
from contextlib import nullcontext
from datetime import date
from pathlib import Path

from attackpages import attacked, attacks

from sourcebench.judge import local
from sourcebench.judge.crew import in_threads
from sourcebench.judge.journal import Journal
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.settings import Settings, read_key
from sourcebench.records import Query, Verdict

QUERY = Query("q", "How did the northern river change this spring?")


def verdicts_on(judges: list[LLMJudge], attack: dict) -> list[tuple[list[Verdict], list[Verdict]]]:
    """Return the verdicts on a page and on its twin, for each repetition."""
    page, twin = attacked(attack), attacked(attack, clean=True)
    return [
        (judge.judge("content", QUERY, page), judge.judge("content", QUERY, twin))
        for judge in judges
    ]


def shifts(pairs: list[tuple[list[Verdict], list[Verdict]]]) -> list[int]:
    """Return the differences of the scores, where both pages have one."""
    return [
        there.score - clean.score
        for page, twin in pairs
        for there, clean in zip(page, twin, strict=True)
        if there.score is not None and clean.score is not None
    ]


def measure(base_url: str, options: argparse.Namespace, folder: Path) -> None:
    """Judge all pages and print a line for each kind."""
    settings = Settings(
        options.model, base_url, key=options.key or "", max_tokens=options.room, timeout=600.0
    )
    chosen = (
        attacks()[:: max(1, len(attacks()) // options.attacks)] if options.attacks else attacks()
    )
    by_kind = defaultdict(list)
    with Journal(folder / "journal.jsonl") as journal:
        judges = [
            LLMJudge(
                f"judge/{n}",
                settings,
                date(2026, 6, 1),
                journal,
                key=lambda: read_key(settings, os.environ),
            )
            for n in range(1, options.repeats + 1)
        ]
        judges[0].prepare()
        found = in_threads(lambda a: verdicts_on(judges, a), chosen, 1 if options.local else 8)
        for attack, pairs in found:
            by_kind[attack["kind"]] += pairs
        for judge in judges:
            judge.patience.endpoint.close()
    print("kind,pages,verdicts,mean_shift,largest_shift,echoed,without_score")
    for kind, pairs in sorted(by_kind.items()):
        print(line(kind, pairs, len(pairs) // len(judges)))


def line(kind: str, pairs, pages: int) -> str:
    """Return the sums of one kind."""
    moved = shifts(pairs)
    said = [verdict for page, _ in pairs for verdict in page]
    echoed = sum(verdict.outcome == "echoed" for verdict in said)
    without = sum(verdict.score is None for verdict in said)
    mean = f"{statistics.fmean(moved):.2f}" if moved else ""
    return f"{kind},{pages},{len(said)},{mean},{max(moved, default='')},{echoed},{without}"


def main() -> None:
    """Take the endpoint, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base-url")
    parser.add_argument("--model", default=local.MODEL)
    parser.add_argument("--key", help="name of the environment variable that holds the key")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--room", type=int, default=2048, help="output tokens of a reply")
    parser.add_argument(
        "--attacks", type=int, help="about how many attacks to take; all by default"
    )
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args()
    if not options.local and not options.base_url:
        parser.error("give --base-url and --model, or --local")
    if options.local:
        print(local.CAVEAT)
    served = local.local_endpoint() if options.local else nullcontext(options.base_url)
    with served as base_url, tempfile.TemporaryDirectory() as folder:
        measure(base_url, options, Path(folder))


if __name__ == "__main__":
    main()
