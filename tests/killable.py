"""Judges sixty pages in a process of its own, so that a test can kill it; not a test itself."""

import json
import signal
import sys
import time
from datetime import date
from pathlib import Path

from sourcebench.judge.crew import in_threads
from sourcebench.judge.journal import Journal
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.settings import Settings
from sourcebench.judge.stage import Task
from sourcebench.records import Packet


def pages(count: int) -> dict[str, Packet]:
    """Return made-up pages by identity."""
    return {
        f"p{i}": Packet(f"p{i}", f"https://{i}.example.org/", text=f"Page {i} is short.")
        for i in range(count)
    }


def main(base_url: str, journal: str, count: str, threads: str) -> None:
    """Judge all pages and print the verdicts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    settings = Settings("judge", base_url, concurrency=int(threads), timeout=5.0)
    made = pages(int(count))
    tasks = [Task("usability", "", page) for page in made]
    made_judge = LLMJudge(
        "fake",
        settings,
        date(2026, 6, 1),
        Journal(Path(journal)),
        sleep=lambda seconds: time.sleep(seconds / 50),  # waits are shortened
    )
    with made_judge as judge:
        judge.prepare()
        found = in_threads(
            lambda task: judge.judge(task.group, None, made[task.page_id]),
            tasks,
            int(threads),
            judge.give_up,
        )
        for task, (verdict,) in found:
            print(json.dumps([task.page_id, verdict.score, verdict.outcome, verdict.reason]))


if __name__ == "__main__":
    main(*sys.argv[1:])
