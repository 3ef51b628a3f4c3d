"""Building a paper: one process at a time."""

import threading

from studies import tiny_study

from sourcebench.pipeline import ROOT, _notebooks, alone, prepare


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


def test_an_offline_run_does_not_stand_for_one_with_a_network(tmp_path):
    """Offline, pages that are not there are gaps; the record says so, and only offline is it enough."""
    study, build, said = tiny_study(tmp_path / "s"), tmp_path / "b", []
    for table in ("packets", "citations"):
        study.path(table).unlink()
    prepare(study.folder, build, offline=True, say=said.append)
    prepare(study.folder, build, offline=True, say=said.append)
    assert said[-1] == f"stages of {study.folder} are up to date"
    prepare(study.folder, build, say=said.append)
    assert said[-1].startswith("measure: ")


def test_a_notebook_goes_by_its_name():
    """With or without folder and ending, it is the same one; without any, all are taken."""
    path = ROOT / "notebooks" / "03-judge-alignment.ipynb"
    names = ("03-judge-alignment", "03-judge-alignment.ipynb", "notebooks/03-judge-alignment.ipynb")
    assert [_notebooks([name])[0].resolve() for name in (*names, path)] == [path] * 4
    assert _notebooks([]) == sorted((ROOT / "notebooks").glob("*.ipynb"))
