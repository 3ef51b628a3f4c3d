"""A judge that is killed at any moment pays for nothing twice that was on disk, and loses nothing."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from fakejudge import FakeJudge, right_score
from killable import pages

from sourcebench.judge.journal import Journal

PAGES, THREADS, KILLS = 60, 4, 3


def start(server, journal):
    """Start the judging process."""
    script = Path(__file__).with_name("killable.py")
    command = [sys.executable, script, server.base_url, journal, str(PAGES), str(THREADS)]
    root = str(script.parents[1])
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"PYTHONPATH": root},
    )


def kill_at(process, server, requests, how=signal.SIGKILL):
    """End the process once it has sent so many more requests."""
    goal, until = len(server.requests) + requests, time.monotonic() + 30
    while len(server.requests) < goal and time.monotonic() < until and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(how)
    process.communicate()


def test_killed_and_resumed(tmp_path):
    """Over several kills: every verdict right, none lost, none on disk asked for again."""
    journal, rng = tmp_path / "journal.jsonl", random.Random(5)
    with FakeJudge(latency=0.02) as server:
        for _ in range(KILLS):
            before = len(server.requests)
            known = Journal(journal).keys()
            kill_at(start(server, journal), server, rng.randint(5, 15))
            kept = Journal(journal)
            assert kept.keys() >= known
            assert len(server.requests) - before <= len(kept) - len(known) + THREADS
        output, _ = start(server, journal).communicate(timeout=60)
        twice = sum(server.served.values()) - len(server.served)
    found = {
        page: (score, outcome) for page, score, outcome, _ in map(json.loads, output.splitlines())
    }
    assert found == {p: (right_score(q.url, "LC"), "scored") for p, q in pages(PAGES).items()}
    assert twice <= KILLS * THREADS
    lines = [line for line in Journal(journal).lines() if line["status"] == "reply"]
    assert len(lines) == len({line["key"] for line in lines}) == PAGES


def test_interrupted_by_the_user(tmp_path):
    """Ctrl-C ends a run soon, and every reply that was paid for is on disk."""
    journal = tmp_path / "journal.jsonl"
    with FakeJudge(latency=0.4) as server:
        kill_at(start(server, journal), server, 15, signal.SIGINT)
        lines = [
            line for line in Journal(journal).lines() if line["status"] in ("reply", "dialect")
        ]
        assert len(lines) == sum(server.served.values()) < PAGES
