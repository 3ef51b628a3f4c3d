"""The journal keeps what was paid for, whatever happens to the process."""

import json
import subprocess
import sys
import threading

import pytest

from sourcebench.judge.journal import Journal
from sourcebench.study import StudyError


def test_resume_after_a_kill(shared, tmp_path):
    """A cut last line, doubled keys and unfinished calls are told apart (C-09)."""
    case = shared / "cases" / "C-09-resume"
    path = tmp_path / "journal.jsonl"
    path.write_bytes((case / "ledger.jsonl").read_bytes())
    plan = json.loads((case / "plan.json").read_text(encoding="utf-8"))["keys"]
    journal = Journal(path)
    todo = [key[:2] for key in plan if key not in journal]
    assert todo == ["s2", "s4", "s6", "s7", "s8"]
    assert journal.cut_lines == 1
    assert journal.conflicts == ["s3|judge-a|1"]
    assert journal.get("s3|judge-a|1")["scores"] == {"authority": 3}
    with journal:
        journal.append({"key": "s6|judge-a|1", "status": "ok"})
    assert path.read_text(encoding="utf-8").endswith('\n{"key":"s6|judge-a|1","status":"ok"}\n')
    assert "s6|judge-a|1" in Journal(path)


def test_a_line_asked_for_again_replaces(tmp_path):
    """A later line counts only where it was asked for to replace the first."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.append({"key": "k", "status": "reply", "text": "first"})
        journal.append({"key": "k", "status": "reply", "text": "by accident"})
        assert journal.get("k")["text"] == "first"
        journal.append({"key": "k", "status": "reply", "text": "asked for", "again": True})
        assert journal.get("k")["text"] == "asked for"
    assert Journal(tmp_path / "journal.jsonl").get("k")["text"] == "asked for"


def test_only_one_process_writes(tmp_path):
    """A second process on one journal is refused in words, and let in when the first has ended."""
    program = (
        "import sys, pathlib; from sourcebench.judge.journal import Journal\n"
        "with Journal(pathlib.Path(sys.argv[1])):\n"
        "    print('in', flush=True); sys.stdin.readline()\n"
    )
    path = tmp_path / "journal.jsonl"
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "in\n"
        with pytest.raises(StudyError, match="another process is judging"), Journal(path):
            pass
        other.communicate("\n")
    with Journal(path) as journal:
        journal.append({"key": "k", "status": "reply"})


def test_threads_share_a_journal(tmp_path):
    """Lines of many threads are whole, and each is found under its key."""
    with Journal(tmp_path / "journal.jsonl") as journal:

        def write(name):
            for i in range(20):
                journal.append({"key": f"{name}-{i}", "status": "reply", "text": "é\n" * 50})

        threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    again = Journal(tmp_path / "journal.jsonl")
    assert len(again) == 160
    assert again.cut_lines == 0
    assert again.get("3-7")["text"] == "é\n" * 50


def test_any_cut_leaves_the_lines_before(tmp_path):
    """Wherever the file is cut off, all whole lines before the cut are read."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for i in range(3):
            journal.append({"key": f"k{i}", "status": "reply"})
    data = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        assert len(Journal(path)) in (whole, whole + (cut + 1 in ends))
