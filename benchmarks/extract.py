"""How fast pages become packets, as a ratio to trafilatura alone on the same pages and cores.

    python benchmarks/extract.py FOLDER [--rounds 5] [--repeat 4]

FOLDER holds pages as *.html or *.html.gz; with two processes they are read several times over, so that
neither the start nor one large page at the end counts. Runs alternate, so that a busy machine slows both sides;
what is printed are ratios of throughput (packets over trafilatura), median and range over rounds:
one process against one, and two processes against trafilatura in one.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

HEADERS = {"Content-Type": "text/html"}


def read_pages(folder: Path) -> list[bytes]:
    """Return the bodies of the pages in a folder, in the order of their names."""
    files = sorted([*folder.glob("*.html"), *folder.glob("*.html.gz")])
    return [gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in files]


def text_only(body: bytes) -> object:
    """Extract the text with trafilatura alone."""
    import trafilatura

    return trafilatura.extract(body)


def text_and_metadata(body: bytes) -> object:
    """Extract text, author, date and title with trafilatura alone."""
    import trafilatura

    return trafilatura.bare_extraction(body, with_metadata=True) is None


def packet(body: bytes) -> object:
    """Make a packet of a page."""
    from sourcebench.extract import extract_page

    return extract_page("page", "https://example.org/page", body, headers=HEADERS).page_id


def cpu_seconds(work: Callable[[bytes], object], pages: list[bytes]) -> float:
    """Return the processor time of one pass in this process."""
    start = time.process_time()
    for body in pages:
        work(body)
    return time.process_time() - start


def wall_seconds(pool, work: Callable[[bytes], object], pages: list[bytes]) -> float:
    """Return the wall time of one pass over a pool of processes that are already warm."""
    start = time.perf_counter()
    for _ in pool.imap_unordered(work, pages, chunksize=2):
        pass
    return time.perf_counter() - start


def ratio(name: str, pairs: list[tuple[float, float]]) -> str:
    """Return one line: how many times as fast the second of each pair is as the first."""
    ratios = sorted(first / second for first, second in pairs)
    middle = statistics.median(ratios)
    return f"{name:58} {middle:5.2f}  [{ratios[0]:.2f}, {ratios[-1]:.2f}]"


def main() -> None:
    """Run the comparison and print its ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=4)
    options = parser.parse_args()
    pages = read_pages(options.folder)
    print(f"{len(pages)} pages, {sum(map(len, pages)) / 1e6:.1f} MB, {options.rounds} rounds")
    peers = (text_only, text_and_metadata)
    for work in (*peers, packet):
        cpu_seconds(work, pages)  # imports, models and caches
    for peer in peers:
        pairs = [
            (cpu_seconds(peer, pages), cpu_seconds(packet, pages)) for _ in range(options.rounds)
        ]
        print(ratio(f"one core, against trafilatura {peer.__name__}", pairs))
    with get_context("spawn").Pool(1) as one, get_context("spawn").Pool(2) as two:
        wall_seconds(one, text_only, pages)
        wall_seconds(two, packet, pages)
        pages *= options.repeat
        for peer in peers:
            pairs = [
                (wall_seconds(one, peer, pages), wall_seconds(two, packet, pages))
                for _ in range(options.rounds)
            ]
            print(ratio(f"two processes, against one of trafilatura {peer.__name__}", pairs))


if __name__ == "__main__":
    main()
