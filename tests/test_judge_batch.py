"""The batch endpoint is another way to the same verdicts: resumable, and paid for once."""

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fakejudge import answer, verdict_on
from studies import tiny_study

from sourcebench.judge import JudgingStopped, judge_study
from sourcebench.judge.batch import judge_in_batches


class BatchServer:
    """A provider's files, batches and chat on loopback; a batch ends after `looks` looks at it."""

    def __init__(self, looks=1):
        self.files, self.batches, self.looks = {}, {}, looks
        self.chats, self.takes_batches = 0, True
        self.paid = Counter()
        self.script = lambda body: (200, answer(json.dumps(verdict_on(body)), body=body))

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"
        return self

    def __exit__(self, *failure):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def settings(self):
        """Return the lines of study.toml that make this server the judge `fake`."""
        values = f'type = "llm"\nmodel = "judge"\nbase_url = "{self.base_url}"\nconcurrency = 1\n'
        return f'judge = "fake"\n[judges.fake]\n{values}'

    def add_file(self, data):
        name = f"file-{len(self.files)}"
        self.files[name] = data
        return name

    def create(self, body):
        name = f"batch-{len(self.batches)}"
        made = {**body, "id": name, "object": "batch", "status": "in_progress", "created_at": 1}
        self.batches[name] = made
        return made

    def look(self, name):
        batch = self.batches[name]
        batch["seen"] = batch.get("seen", 0) + 1
        if batch["seen"] > self.looks and batch["status"] == "in_progress":
            self.run(batch)
        return batch

    def run(self, batch):
        good, bad = [], []
        for line in self.files[batch["input_file_id"]].decode().splitlines():
            request = json.loads(line)
            status, body = self.script(request["body"])
            response = {"status_code": status, "body": body}
            (good if status == 200 else bad).append(
                json.dumps({"custom_id": request["custom_id"], "response": response})
            )
            self.paid[request["custom_id"]] += status == 200
        batch["status"] = "completed"
        batch["output_file_id"] = self.add_file("\n".join(good).encode())
        batch["error_file_id"] = self.add_file("\n".join(bad).encode()) if bad else None


def _handler(provider):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            path = self.path.partition("?")[0]
            if match := re.fullmatch(r"/v1/files/(.+)/content", path):
                self.reply(provider.files[match[1]])
            elif match := re.fullmatch(r"/v1/batches/(.+)", path):
                self.reply(provider.look(match[1]))
            else:
                self.reply(
                    {"object": "list", "data": list(provider.batches.values()), "has_more": False}
                )

        def do_POST(self):
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/files" and not provider.takes_batches:
                self.reply({"error": {"message": "no batches here"}}, 404)
            elif self.path == "/v1/files":
                body = data.split(b'filename="')[1].split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 2)[0]
                name = provider.add_file(body)
                self.reply(
                    {
                        "id": name,
                        "object": "file",
                        "bytes": 1,
                        "created_at": 1,
                        "filename": "f",
                        "purpose": "batch",
                        "status": "processed",
                    }
                )
            elif self.path == "/v1/batches":
                self.reply(provider.create(json.loads(data)))
            else:
                provider.chats += 1
                status, found = provider.script(json.loads(data))
                self.reply(found, status)

        def reply(self, found, status=200):
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(data)

    return Handler


def test_a_study_is_judged_in_one_batch(tmp_path):
    """All calls go into one batch after the preflight, and the verdicts are the live ones."""
    with BatchServer() as server:
        study = tiny_study(tmp_path / "a", server.settings())
        batched = judge_in_batches(study, "fake", poll=0.01)
        assert (len(server.batches), server.chats) == (1, 1)
        live = judge_study(tiny_study(tmp_path / "b", server.settings()))
    columns = ["query_id", "page_id", "metric", "score", "outcome", "reason"]
    assert batched[columns].equals(live[columns])


def test_a_batch_that_is_out_is_not_sent_again(tmp_path):
    """A call that does not wait says so; the next ones collect what the first one sent."""
    with BatchServer(looks=2) as server:
        study = tiny_study(tmp_path, server.settings())
        for _ in range(2):
            with pytest.raises(
                JudgingStopped, match="batch batch-0 is in_progress; run again later"
            ):
                judge_in_batches(study, "fake", poll=None)
        frame = judge_in_batches(study, "fake", poll=None)
        assert len(server.batches) == 1
        judge_in_batches(study, "fake", poll=None)
        assert len(server.batches) == 1
        assert set(server.paid.values()) == {1}
    assert set(frame["outcome"]) == {"scored"}


def test_a_batch_sent_by_a_process_that_died_is_found(tmp_path):
    """Between sending and noting a process may die: the batch is found by its name, not sent again."""
    with BatchServer(looks=1) as server:
        study = tiny_study(tmp_path, server.settings())
        with pytest.raises(JudgingStopped):
            judge_in_batches(study, "fake", poll=None)
        journal = tmp_path / "journal.jsonl"
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if '"batch_sent"' not in line]
        assert len(kept) == len(lines) - 1
        journal.write_text("".join(kept), encoding="utf-8")
        frame = judge_in_batches(study, "fake", poll=0.01)
        assert len(server.batches) == 1
    assert set(frame["outcome"]) == {"scored"}


def test_what_a_batch_leaves_open_goes_into_the_next(tmp_path):
    """Cut replies are asked for with more room in a second round, filtered ones are outcomes."""

    def script(body):
        text = body["messages"][1]["content"]
        if body["max_tokens"] == 2048 and "has to serve" in text and "river fell by" in text:
            return 200, answer('{"CR', finish="length", body=body)
        if "Kind of page" in text:
            return 400, {"error": {"code": "content_filter", "message": "filtered"}}
        return 200, answer(json.dumps(verdict_on(body)), body=body)

    with BatchServer() as server:
        server.script = script
        study = tiny_study(tmp_path, server.settings())
        frame = judge_in_batches(study, "fake", poll=0.01)
        assert (len(server.batches), server.chats) == (2, 1)
    by_metric = frame.groupby("metric")["outcome"].agg(set)
    assert by_metric["CR"] == {"scored"}
    assert by_metric["LC"] == {"filtered"}


def test_an_endpoint_without_batches_says_so(tmp_path):
    """A provider that has no batches ends the run in its own words."""
    with BatchServer() as server:
        study = tiny_study(tmp_path, server.settings())
        server.takes_batches = False
        with pytest.raises(JudgingStopped, match=r"judge fake: batch endpoint: .*no batches here"):
            judge_in_batches(study, "fake", poll=None)


def test_a_batch_keeps_to_the_limit(tmp_path):
    """A batch that could cost more than the limit is not sent, and the message names the limit."""
    with BatchServer() as server:
        prices = "price_in = 1000.0\nprice_out = 1000.0\n"
        study = tiny_study(tmp_path, server.settings() + prices)
        with pytest.raises(JudgingStopped, match=r"limit of 0\.5"):
            judge_in_batches(study, "fake", poll=0.01, limit_cost=0.5)
        assert not server.batches
        judge_in_batches(study, "fake", poll=0.01, limit_cost=5000)
        assert len(server.batches) == 1


def test_the_command_sends_a_batch(tmp_path):
    """`judge --batch` judges through the batch endpoint; options that it can't keep are refused."""
    from click.testing import CliRunner

    from sourcebench.cli import main

    with BatchServer() as server:
        study = tiny_study(tmp_path, server.settings())
        refused = CliRunner().invoke(
            main, ["judge", str(study.folder), "--batch", "--retry", "cut"]
        )
        assert refused.exit_code == 1
        assert "--batch goes with neither --retry nor --anchors" in refused.output
        done = CliRunner().invoke(main, ["judge", str(study.folder), "--batch", "--poll", "0.01"])
        assert done.exit_code == 0, done.output
        assert (len(server.batches), server.chats) == (1, 1)
    assert "scored" in done.output
