"""Building a paper: one process at a time."""

import threading

from sourcebench.pipeline import alone


def test_a_second_build_waits_for_the_first(tmp_path):
    """Two builds in one folder follow each other, and the second says that it waits."""
    said, order = [], []

    def second():
        with alone(tmp_path / "b", said.append):
            order.append("second")

    with alone(tmp_path / "b", said.append):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            pass
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == [f"{tmp_path / 'b'}: another process is building here; waiting for it to end"]
