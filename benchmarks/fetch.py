"""Wall time of fetching a study against a bare loop of threads and requests.

    python benchmarks/fetch.py [--pages 400] [--hosts 100] [--latency 0.05] [--concurrency 16]

Both arms ask the same server, a process of its own on this machine that waits before each answer.
The bare loop keeps nothing and checks nothing; fetching checks addresses and rules, keeps to one
connection a host, and has every page and its row on disk. Arms take turns; the best of each counts.
Rules cost a request for each host; the last ratio is that of the time a request takes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer

import requests

from sourcebench.fetch import fetch_study
from sourcebench.study import Study

TOML = """title = "Benchmark"
kind = "synthetic"
licence = "CC0-1.0"
as_of = 2026-01-01
[fetch]
delay = 0.0
respect_robots = {robots}
"""
BODY = b"<p>A line of the page, as pages have them.\n" * 500


class _Server(ThreadingTCPServer):
    request_queue_size = 256
    daemon_threads = True


def serve(latency: float, bodies: list[bytes], ports: multiprocessing.Queue) -> None:
    """Answer `/n` with the n-th body, round and round, after a wait, for ever; there are no rules."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            time.sleep(latency)
            number = self.path[1:]
            known = number.isdecimal()
            status, body = (200, bodies[int(number) % len(bodies)]) if known else (404, b"")
            self.send_response_only(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        ports.put(server.server_address[1])
        server.serve_forever()


def bare_loop(urls: list[str], port: int, concurrency: int) -> None:
    """Ask for every address, with a session for each thread."""
    local = threading.local()

    def get(url: str) -> bytes:
        if not hasattr(local, "session"):
            local.session = requests.Session()
        host, _, path = url.removeprefix("http://").partition("/")
        answer = local.session.get(f"http://127.0.0.1:{port}/{path}", headers={"Host": host})
        answer.raise_for_status()
        return answer.content

    with ThreadPoolExecutor(concurrency) as pool:
        assert all(pool.map(get, urls))


def cited_study(folder: Path, urls: list[str], *, robots: bool) -> Study:
    """Make a study in a folder that cites every address."""
    text = TOML.format(robots=str(robots).lower())
    (folder / "study.toml").write_text(text, encoding="utf-8")
    study = Study(folder)
    study.save("queries", [{"query_id": "q", "text": "t", "category": "factual"}])
    cited = {"system": "s", "query_id": "q", "run": 1}
    study.save("citations", [cited | {"rank": n, "url": u} for n, u in enumerate(urls, 1)])
    return study


def fetched(urls: list[str], port: int, concurrency: int, *, robots: bool) -> float:
    """Fetch a study that cites every address; return the seconds that fetching took."""
    with tempfile.TemporaryDirectory() as name:
        study = cited_study(Path(name), urls, robots=robots)
        started = time.perf_counter()
        counts = fetch_study(
            study, resolver=lambda *_: ("127.0.0.1", port, "http"), concurrency=concurrency
        )
        took = time.perf_counter() - started
    assert counts == {"ok": len(urls)}, counts
    return took


def timed(function: Callable, *args) -> float:
    """Return the seconds a call takes."""
    started = time.perf_counter()
    function(*args)
    return time.perf_counter() - started


def main() -> None:
    """Run the arms in turn and print walls and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    urls = [f"http://h{n % asked.hosts}.example/{n}" for n in range(asked.pages)]
    ports: multiprocessing.Queue = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(asked.latency, [BODY], ports), daemon=True)
    server.start()
    port = ports.get()
    arms: dict[str, list[float]] = {"bare loop": [], "fetch": [], "fetch with robots.txt": []}
    fetched(urls[:2], port, 2, robots=False)  # imports are not what is measured
    for _ in range(asked.rounds):
        arms["bare loop"].append(timed(bare_loop, urls, port, asked.concurrency))
        arms["fetch"].append(fetched(urls, port, asked.concurrency, robots=False))
        arms["fetch with robots.txt"].append(fetched(urls, port, asked.concurrency, robots=True))
    server.terminate()
    best = min(arms["bare loop"])
    print(
        f"{asked.pages} pages, {asked.hosts} hosts, {1000 * asked.latency:g} ms, "
        f"{asked.concurrency} at once, {os.cpu_count()} processors, best of {asked.rounds}"
    )
    for arm, walls in arms.items():
        extra = asked.hosts if "robots" in arm else 0
        ratio, requests_made = min(walls) / best, asked.pages + extra
        print(
            f"{arm:24} {min(walls):6.2f} s   {ratio:5.2f} x bare loop   {requests_made} requests, "
            f"{ratio * asked.pages / requests_made:5.2f} x a request   "
            f"(rounds {', '.join(f'{w:.2f}' for w in walls)})"
        )


if __name__ == "__main__":
    main()
