"""Threads that share one list of tasks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any


def in_threads(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    threads: int,
    hurry: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with its result, as results come in; the first exception ends it.

    Tasks are handed out in order. When the caller stops early (also by Ctrl-C), or one task raises,
    tasks in hand are finished, since their requests are paid for, and no new one is begun.

    Parameters
    ----------
    work
        What is done with a task, in one of the threads.
    threads
        Number of threads.
    hurry
        Called when the caller stops early, to have tasks that only wait give up.
    """
    yield from _Crew(work, tasks, hurry).results(max(1, threads))


class _Crew:
    """Threads that share one list of tasks."""

    def __init__(self, work: Callable[[Any], Any], tasks: Sequence[Any], hurry: Callable[[], None]):
        self._work, self._tasks, self._hurry = work, iter(tasks), hurry
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._done: queue.SimpleQueue = queue.SimpleQueue()

    def _next(self) -> Any:
        """Hand out the next task, or None."""
        with self._lock:
            return None if self._stop.is_set() else next(self._tasks, None)

    def _serve(self) -> None:
        """Work through tasks until there is none; say so with a final None."""
        try:
            while (task := self._next()) is not None:
                self._done.put((task, self._work(task), None))
        except BaseException as error:
            self._stop.set()
            self._done.put((None, None, error))
        finally:
            self._done.put(None)

    def results(self, threads: int) -> Iterator[tuple[Any, Any]]:
        """Start the threads and yield what they bring."""
        crew = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in crew:
            thread.start()
        running, failure = threads, None
        try:
            while running:
                item = self._done.get()
                if item is None:
                    running -= 1
                elif item[2] is not None:
                    failure = failure or item[2]
                else:
                    yield item[0], item[1]
        finally:
            self._stop.set()
            if running:
                self._hurry()
            for thread in crew:
                thread.join()
        if failure is not None:
            raise failure
