"""How well judging uses an endpoint: wall time, memory, characters sent, and what caches can hit.

    PYTHONPATH=.:tests python benchmarks/judge.py [--pages 240] [--verdicts 20000] [--study FOLDER ...]

The endpoint is a stand-in on loopback, in a process of its own, that answers after 500 ms. Wall
time is compared with calls x latency / concurrency, and with the pattern of public tools: one page
at a time, three calls in flight, rubric and page in each. Pages are synthetic sentences.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from sourcebench.judge.crew import in_threads
from sourcebench.judge.journal import Journal
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.settings import Settings
from sourcebench.judge.stage import Task, load_packets, load_queries, tasks_of
from sourcebench.records import Link, Packet, Query
from sourcebench.rubric import GROUPS
from sourcebench.study import Study

LATENCY, CONCURRENCY = 0.5, 32
AS_OF = date(2026, 6, 1)


def made_page(number: int, rng: random.Random) -> Packet:
    """Return a synthetic page: main text of 2,000 to 20,000 characters, and lines around it."""
    size, words = rng.randint(2_000, 20_000), []
    while sum(map(len, words)) < size:
        words.append(f"Gauge {rng.randint(1, 10**6)} stood at {rng.random():.3f} metres in May. ")
    lines = [f"Menu entry {rng.randint(1, 10**6)} of the site" for _ in range(60)]
    return Packet(
        f"p{number}",
        f"https://{number}.example.org/page",
        title=f"River report {number}",
        text="".join(words),
        outside="\n".join(lines),
        counts={"words": size // 6, "links": 60, "ad_elements": 2},
        links=tuple(Link(f"https://{i}.example.com/", f"source {i}") for i in range(10)),
    )


@contextmanager
def endpoint(latency: float) -> Iterator[str]:
    """Run the stand-in in a process of its own."""
    command = [sys.executable, __file__, "--serve", str(latency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            yield child.stdout.readline().strip()
        finally:
            child.stdin.close()
            child.wait(timeout=10)


def serve(latency: float) -> None:
    """Answer until standard input closes, and keep nothing of the requests."""
    from fakejudge import FakeJudge

    with FakeJudge(latency=latency) as server:
        server.requests = server.headers = type("Nothing", (), {"append": lambda *a: None})()
        server.served = server._tries = _Forgetful()
        print(server.base_url, flush=True)
        sys.stdin.read()
    os._exit(0)


class _Forgetful(dict):
    """A counter that never grows."""

    def __missing__(self, key: str) -> int:
        return 0

    def __setitem__(self, key: str, value: int) -> None:
        pass


def tasks_on(pages: dict[str, Packet], queries: int) -> list[Task]:
    """Return the calls on pages that are each cited for one or two queries."""
    content = [Task("content", f"q{i % queries}", page) for i, page in enumerate(pages)]
    twice = [Task("content", f"q{(i + 1) % queries}", p) for i, p in enumerate(pages) if i % 4 == 0]
    by_page = [Task(group, "", page) for group in ("credibility", "usability") for page in pages]
    return sorted(content + twice, key=lambda task: task.page_id) + by_page


def query_of(task: Task) -> Query | None:
    """Return the query of a task."""
    return (
        Query(task.query_id, f"What did the river do, {task.query_id}?") if task.query_id else None
    )


def judge_on(base_url: str, folder: Path, concurrency: int = CONCURRENCY) -> LLMJudge:
    """Return a judge with a journal in the folder."""
    settings = Settings("judge", base_url, concurrency=concurrency)
    return LLMJudge("fake", settings, AS_OF, Journal(folder / "journal.jsonl"))


def our_wall(base_url: str, pages: dict[str, Packet], tasks: list[Task]) -> float:
    """Return the seconds of a run, journal and preflight included."""
    with tempfile.TemporaryDirectory() as folder, judge_on(base_url, Path(folder)) as judge:
        start = time.perf_counter()
        judge.prepare()
        run(judge, pages, tasks)
        return time.perf_counter() - start


def run(judge: LLMJudge, pages: dict[str, Packet], tasks: list[Task]) -> int:
    """Judge all tasks; return the number of verdicts."""
    found = in_threads(
        lambda task: judge.judge(task.group, query_of(task), pages[task.page_id]),
        tasks,
        judge.concurrency,
    )
    return sum(len(verdicts) for _, verdicts in found)


def public_wall(base_url: str, pages: list[Packet], prompts: dict[str, str]) -> float:
    """Return the seconds of the public pattern: pages one by one, three calls in flight."""
    import openai

    with openai.OpenAI(base_url=base_url, api_key="none") as client, ThreadPoolExecutor(3) as pool:

        def ask(group: str, page: Packet) -> None:
            text = f"Address: {page.url}\n{page.text}\n{page.outside}"
            messages = [
                {"role": "system", "content": prompts[group]},
                {"role": "user", "content": text},
            ]
            client.chat.completions.create(model="judge", messages=messages)

        start = time.perf_counter()
        for page in pages:
            list(pool.map(lambda group, page=page: ask(group, page), GROUPS))
        return time.perf_counter() - start


def common_start(one: str, other: str) -> int:
    """Return how many characters two texts share from their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def characters(
    judge: LLMJudge, pages: dict[str, Packet], tasks: list[Task], query=query_of
) -> dict[str, float]:
    """Return characters a source, their share of the naive way, and the share that caches can hit."""
    sent = hit = 0
    last: dict[str, str] = {}
    for task in tasks:
        request = judge._request(task.group, query(task), pages[task.page_id])
        text = "\n".join(message["content"] for message in request.messages)
        sent += len(text)
        hit += common_start(text, last.get(task.group, ""))
        last[task.group] = text
    rubric = sum(len(judge.wording.system(group)) for group in GROUPS)
    naive = sum(3 * (rubric + len(p.text) + len(p.outside)) for p in pages.values())
    apart = sum(rubric + 3 * (len(p.text) + len(p.outside)) for p in pages.values())
    pairs = sum(task.group == "content" for task in tasks)
    scale = pairs / len(pages)  # the naive way judges a page anew for each query
    return {
        "characters a page": sent / len(pages),
        "against rubric and page three times": sent / (naive * scale),
        "against one rubric and page three times": sent / (apart * scale),
        "share that starts like the call before": hit / sent,
    }


def study_characters(judge: LLMJudge, folder: Path) -> dict[str, float]:
    """Return the same of a study's own pages and queries."""
    study = Study(folder)
    queries = load_queries(study)
    pages = {key: Packet.from_dict(row) for key, row in load_packets(study).items()}
    tasks = [task for task in tasks_of(study) if task.page_id in pages]
    return characters(judge, pages, tasks, lambda task: queries.get(task.query_id))


def memory(base_url: str, verdicts: int) -> tuple[float, float]:
    """Return peak memory in MB after a quarter of the verdicts, and after all."""
    rng = random.Random(3)
    pages = {f"p{i}": made_page(i, rng) for i in range(200)}
    calls = verdicts // len(GROUPS["content"])
    tasks = [Task("content", f"q{i}", f"p{i % 200}") for i in range(calls)]
    with tempfile.TemporaryDirectory() as folder, judge_on(base_url, Path(folder), 16) as judge:
        judge.prepare()
        run(judge, pages, tasks[: calls // 4])
        quarter = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        run(judge, pages, tasks[calls // 4 :])
        return quarter, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=240)
    parser.add_argument("--verdicts", type=int, default=20_000)
    parser.add_argument("--study", type=Path, action="append", default=[])
    parser.add_argument("--serve", type=float)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
    rng = random.Random(1)
    pages = {f"p{i}": made_page(i, rng) for i in range(options.pages)}
    tasks = tasks_on(pages, queries=max(1, options.pages // 5))
    start = time.perf_counter()
    import openai  # noqa: F401  a second of start-up, whatever the number of calls

    print(
        f"start-up: {time.perf_counter() - start:.2f} s to import the client, apart from what follows"
    )
    with endpoint(LATENCY) as base_url:
        busy = time.process_time()
        ours = our_wall(base_url, pages, tasks)
        busy = (time.process_time() - busy) / len(tasks)
        ideal = len(tasks) * LATENCY / CONCURRENCY
        print(
            f"wall: {ours:.2f} s for {len(tasks)} calls, {ours / ideal:.2f} x the ideal {ideal:.2f} s"
        )
        print(f"processor time of ours: {1000 * busy:.1f} ms a call")
        with tempfile.TemporaryDirectory() as folder:
            judge = judge_on(base_url, Path(folder))
            prompts = {group: judge.wording.system(group) for group in GROUPS}
            few = list(pages.values())[:10]
            public = public_wall(base_url, few, prompts) / len(few)
            print(
                f"public pattern: {public:.2f} s a page, {public / (ours / len(pages)):.1f} x ours"
            )
            for name, value in characters(judge, pages, tasks).items():
                print(f"{name}: {value:,.2f}")
            for study in options.study:
                for name, value in study_characters(judge, study).items():
                    print(f"{study.name}: {name}: {value:,.2f}")
    if options.verdicts:
        with endpoint(0.0) as base_url:
            quarter, end = memory(base_url, options.verdicts)
        print(
            f"peak memory: {quarter:.0f} MB at a quarter of {options.verdicts} verdicts, {end:.0f} at the end"
        )


if __name__ == "__main__":
    main()
