"""Wall time of collecting pages and reading them, against the way of the public collector.

    python benchmarks/collecting.py FOLDER [--pages 400] [--hosts 100] [--latency 0.05] [--rounds 3]

FOLDER holds pages as *.html or *.html.gz; they are served again and again, under as many addresses as
asked, by a process of its own on this machine that waits before each answer. The public way, written
anew here after its description: one request after the other, the text of html.parser without header,
footer and nav, one JSON file at the end. Ours: fetch and extract side by side, with everything on disk.
The bare way is what the machine gives: threads that keep nothing, then trafilatura's text on every core.
Arms take turns; the best of each counts. Needs beautifulsoup4, which comes with jupyter.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import requests
from extract import read_pages, text_only
from fetch import bare_loop, cited_study, serve

from sourcebench.extract import extract_study, reading_along
from sourcebench.fetch import fetch_study

try:
    from bs4 import BeautifulSoup
except ImportError:
    raise SystemExit("this comparison needs beautifulsoup4: pip install beautifulsoup4") from None


def public_way(urls: list[str], port: int) -> float:
    """Ask for one page after the other and keep their texts; return the seconds that it took."""
    started = time.perf_counter()
    kept = []
    with tempfile.TemporaryDirectory() as name, requests.Session() as session:
        for url in urls:
            host, _, path = url.removeprefix("http://").partition("/")
            answer = session.get(f"http://127.0.0.1:{port}/{path}", headers={"Host": host})
            answer.raise_for_status()
            soup = BeautifulSoup(answer.text, "html.parser")
            for part in soup(["header", "footer", "nav"]):
                part.decompose()
            kept.append({"url": url, "text": soup.get_text(" ", strip=True)})
        Path(name, "sources.json").write_text(json.dumps(kept), encoding="utf-8")
    return time.perf_counter() - started


def our_way(urls: list[str], port: int, concurrency: int) -> tuple[float, float]:
    """Fetch and extract a study that cites every address, as `sourcebench run` does.

    Returns the seconds until the last page was fetched, and those until it was read.
    """
    with tempfile.TemporaryDirectory() as name:
        study = cited_study(Path(name), urls, robots=True)
        workers = os.cpu_count() or 2
        started = time.perf_counter()
        with reading_along(study, workers=workers) as read:
            here = lambda *_: ("127.0.0.1", port, "http")  # noqa: E731
            fetch_study(study, resolver=here, concurrency=concurrency, each=read)
            fetched = time.perf_counter()
        counts = extract_study(study, workers=workers)
        ended = time.perf_counter()
    assert sum(counts.values()) == len(urls), counts
    assert not counts.get("failed"), counts
    return fetched - started, ended - fetched


def bare_way(urls: list[str], port: int, concurrency: int, bodies: list[bytes]) -> float:
    """Ask from threads that keep nothing, then read with trafilatura alone, text only, on every core."""
    workers = os.cpu_count() or 2
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(text_only, bodies[: 2 * workers])  # imports are not what is measured
        started = time.perf_counter()
        bare_loop(urls, port, concurrency)
        pages = [bodies[n % len(bodies)] for n in range(len(urls))]
        for _ in pool.imap_unordered(text_only, pages, chunksize=2):
            pass
        return time.perf_counter() - started


def main() -> None:
    """Run the arms in turn and print walls and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    bodies = read_pages(asked.folder)
    urls = [f"http://h{n % asked.hosts}.example/{n}" for n in range(asked.pages)]
    ports: multiprocessing.Queue = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(asked.latency, bodies, ports), daemon=True)
    server.start()
    port = ports.get()
    size = sum(len(bodies[n % len(bodies)]) for n in range(asked.pages))
    print(f"{asked.pages} pages, {size / 1e6:.0f} MB, {1000 * asked.latency:g} ms", flush=True)
    our_way(urls[:2], port, 2)  # imports are not what is measured
    public, ours, bare = [], [], []
    for _ in range(asked.rounds):
        ours.append(our_way(urls, port, asked.concurrency))
        bare.append(bare_way(urls, port, asked.concurrency, bodies))
        public.append(public_way(urls, port))
    server.terminate()
    best = min(ours, key=sum)
    arms = {
        "public way": public,
        "fetch and extract": [sum(w) for w in ours],
        "bare loop, then bare text": bare,
    }
    for arm, walls in arms.items():
        print(f"{arm:26} {min(walls):6.2f} s   (rounds {', '.join(f'{w:.2f}' for w in walls)})")
    print(f"of the best: fetch {best[0]:.2f} s, extract {best[1]:.2f} s")
    print(f"ratio {min(public) / sum(best):.2f}, of the bare way {min(public) / min(bare):.2f}")


if __name__ == "__main__":
    main()
