"""Judging under faults and kills: is every verdict right or explained, none lost, none paid twice?

    PYTHONPATH=.:tests python benchmarks/judge_faults.py [--verdicts 2000] [--kills 20]

A faulty stand-in endpoint on loopback mixes rate limits, server errors, dropped connections,
answers with status 200 and an error, cut, fenced, quoted, incomplete and refused replies. The
judging process is ended with SIGKILL at random moments and started again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fakejudge import FakeJudge, faulty, right_score
from killable import pages

from sourcebench.judge.journal import Journal

ROOT = Path(__file__).resolve().parents[1]
THREADS = 24


def start(server: FakeJudge, journal: Path, count: int, output: Path) -> subprocess.Popen:
    """Start the judging process."""
    command = [sys.executable, ROOT / "tests" / "killable.py", server.base_url, journal]
    with output.open("w", encoding="utf-8") as file:
        return subprocess.Popen(
            [*map(str, command), str(count), str(THREADS)],
            stdout=file,
            env={"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        )


def kill_after(process: subprocess.Popen, server: FakeJudge, requests: int) -> None:
    """Kill the process once it has sent so many more requests."""
    goal = len(server.requests) + requests
    while len(server.requests) < goal and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.wait()


def main() -> None:
    """Kill, resume, check and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verdicts", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as folder, FakeJudge(faulty) as server:
        journal, output = Path(folder) / "journal.jsonl", Path(folder) / "verdicts"
        asked_again = cut = 0
        for _ in range(options.kills):
            known, before = len(Journal(journal)), len(server.served)
            process = start(server, journal, options.verdicts, output)
            kill_after(process, server, rng.randint(5, options.verdicts // options.kills))
            kept = Journal(journal)
            cut += kept.cut_lines
            asked_again += max(0, len(server.served) - before - (len(kept) - known) - THREADS)
        if start(server, journal, options.verdicts, output).wait():
            sys.exit("the last run failed")
        report(output, Journal(journal), server, options, asked_again, cut)


def report(output, journal, server, options, asked_again, cut) -> None:
    """Check every verdict and print the sums."""
    made = pages(options.verdicts)
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    outcomes = Counter(outcome for _, _, outcome, _ in rows)
    wrong = [
        page
        for page, score, _, _ in rows
        if score is not None and score != right_score(made[page].url, "LC")
    ]
    unexplained = [page for page, score, _, reason in rows if score is None and not reason]
    twice = sum(server.served.values()) - len(server.served)
    print(f"verdicts: {len(rows)} of {options.verdicts}, {dict(outcomes.most_common())}")
    print(f"lost: {len(made.keys() - {row[0] for row in rows})}, wrong: {len(wrong)}")
    print(f"without score and reason: {len(unexplained)}, doubled lines: {len(journal.conflicts)}")
    print(f"paid beyond what was on disk: {asked_again}, lines cut by kills: {cut}")
    bound = options.kills * THREADS
    print(f"replies in flight when killed, paid again: {twice} (at most {bound})")
    good = len(rows) == options.verdicts and not wrong and not unexplained and twice <= bound
    sys.exit(0 if good and not asked_again and not journal.conflicts else 1)


if __name__ == "__main__":
    main()
