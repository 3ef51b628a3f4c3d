"""An OpenAI-compatible endpoint on loopback whose replies and faults a test chooses.

Verdicts depend on the page alone, so that a test knows the right score of every row.
"""

import hashlib
import json
import re
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sourcebench.rubric import GROUPS


def right_score(address: str, code: str) -> int:
    """Return the score that this judge gives a page on a metric."""
    return hashlib.sha256(f"{address} {code}".encode()).digest()[0] % 5 + 1


def verdict_on(body: dict) -> dict:
    """Return the verdict on the page in a request."""
    text = body["messages"][1]["content"]
    address = re.search(r"^Address: (\S+)", text, re.M)[1]
    system = body["messages"][0]["content"]
    group = next(g for g, codes in GROUPS.items() if f"\n{codes[0]} (" in system)
    return {
        code: {"reason": f"Seen {code} on {address}.", "score": right_score(address, code)}
        for code in GROUPS[group]
    }


def answer(content, *, finish="stop", model="judge-1", prompt=None, body=None, **message) -> dict:
    """Return the answer of a chat endpoint."""
    sent = sum(len(m["content"]) for m in body["messages"]) if body else 400
    return {
        "id": "x",
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": [{"finish_reason": finish, "message": {"content": content, **message}}],
        "usage": {
            "prompt_tokens": prompt or sent // 4,
            "completion_tokens": len(content or "") // 4,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    }


def faulty(body, n):
    """Fail in a way that depends on the page and group, so that every fault is met."""
    address = body["messages"][1]["content"].split("Address: ")[1].split()[0]
    if address == "https://example.org/":  # the preflight's page
        return None
    fault = hashlib.sha256((address + body["messages"][0]["content"][:80]).encode()).digest()[0]
    right = verdict_on(body)
    text = json.dumps(right)
    code = next(iter(right))
    if len(body["messages"]) > 2:  # the request to send a readable reply
        return answer(text if fault % 2 else "no", body=body)
    once = [
        (429, {"error": {"code": "rate_limit_exceeded"}}, {"retry-after": "0"}),
        (500, {"error": {"message": "oops"}}, {}),
        (
            200,
            {"choices": None, "error": {"code": 429, "message": "Provider"}},
            {"retry-after": "0"},
        ),
        (200, {"choices": None}, {}),
        "drop",
        answer(text[:-20], finish="length", body=body),
        answer("", body=body),
    ]
    always = [
        None,
        answer(f"Here it is:\n```json\n{text}\n```", body=body),
        answer(text.replace('"', "'"), body=body),
        answer(json.dumps(right | {code: {"reason": "r", "score": 7}}), body=body),
        answer(json.dumps({k: v for k, v in right.items() if k != code}), body=body),
        answer(
            json.dumps({k: {**v, "score": str(v["score"])} for k, v in right.items()}), body=body
        ),
        answer("I'm sorry, but I cannot rate this page.", body=body),
        answer("It is a 5, I think.", body=body),
        answer(text[:-20], finish="length", body=body),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, {}),
        (400, {"error": {"message": "maximum context length exceeded"}}, {}),
        (503, {"error": {"message": "overloaded"}}, {}),
    ]
    fault %= len(once) + len(always)
    if fault < len(once):
        return once[fault] if n == 1 else None
    return always[fault - len(once)]


class FakeJudge:
    """The server; `script(body, n)` gives the answer to the n-th request (from 1) with these words.

    A script returns an answer, or (status, answer, headers), or a word: `hang`, `drop`, `drip`.
    None stands for the right verdict.
    """

    def __init__(self, script=lambda body, n: None, latency: float = 0.0):
        self.script, self.latency = script, latency
        self.requests: list[dict] = []
        self.served: Counter[str] = Counter()  # requests that were answered in full, by words
        self.headers: list[dict] = []
        self.in_flight = self.peak = 0
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> "FakeJudge":
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.server.handle_error = lambda *request: None  # a killed client is no fault of ours
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"
        return self

    def __exit__(self, *failure) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def settings(self, **more) -> str:
        """Return the lines of study.toml that make this server the judge `fake`."""
        values = {"type": "llm", "model": "judge", "base_url": self.base_url, "timeout": 5.0}
        lines = [f"{k} = {json.dumps(v)}" for k, v in (values | more).items()]
        return "\n".join(['judge = "fake"', "[judges.fake]", *lines, ""])

    def take(self, body: dict, headers: dict):
        """Note a request and return what to answer."""
        key = words_of(body)
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self._tries[key] += 1
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            tries = self._tries[key]
        if self.latency:
            time.sleep(self.latency)
        found = self.script(body, tries)
        return answer(json.dumps(verdict_on(body)), body=body) if found is None else found

    def done(self, body: dict | None) -> None:
        """Note that a request is finished, and whether it was answered in full."""
        with self._lock:
            self.in_flight -= 1
            if body is not None:
                self.served[words_of(body)] += 1


def words_of(body: dict) -> str:
    """Return what is asked, without the random word of the fence."""
    text = json.dumps([body.get("messages", body.get("prompt")), body.get("max_tokens")])
    return re.sub(r"PAGE [0-9a-f]{16}", "PAGE", text)


def _handler(judge: FakeJudge) -> type:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            found, finished = (
                judge.take(body, {k.lower(): v for k, v in self.headers.items()}),
                None,
            )
            try:
                finished = body if self._send(found) else None
            except OSError:
                self.close_connection = True
            finally:
                judge.done(finished)

        def _send(self, found) -> bool:
            if found == "hang":
                time.sleep(1.2)
                return False
            if found == "drop":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return False
            status, payload, headers = found if isinstance(found, tuple) else (200, found, {})
            data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
            self.send_response(status)
            for name, value in {"content-length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            return status == 200 and b'"choices": [' in data

    return Handler
