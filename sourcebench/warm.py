"""Kernels that start warm: one parent imports the libraries once, every notebook gets a fork of it.

A fresh kernel spends most of a small notebook's time importing pandas and seaborn. The forks share
nothing that a notebook can change, so each notebook still starts from a clean state.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Any as AnyTrait

PRELOADED = (
    "numpy",
    "pandas",
    "pandera.pandas",
    "pandera.backends.pandas.builtin_checks",  # else imported at the first check of a table
    "scipy.stats",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib_inline.backend_inline",
    "seaborn",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "IPython.core.completer",
)


class Nursery:
    """The parent process that forks kernels; `close` ends it, and so does the end of this process.

    Parameters
    ----------
    preloaded
        Modules that every kernel finds imported, beside this package.
    """

    def __init__(self, preloaded: tuple[str, ...] = PRELOADED):
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PARENT, *preloaded],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C is for us; the parent ends when we do
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    def fork(self, connection_file: str, cwd: str | None, env: dict[str, str]) -> int:
        """Fork a kernel that serves `connection_file`, and return its process id."""
        request = {"file": connection_file, "cwd": cwd or str(Path.cwd()), "env": env}
        with self._lock:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            reply = self._process.stdout.readline()
        if not reply:
            raise RuntimeError("the parent of the notebook kernels ended; see its messages above")
        return int(reply)

    def close(self) -> None:
        """End the parent, and with it every kernel that still runs."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.kill()  # it holds nothing but modules, and taking them down takes a second
        self._process.wait(timeout=30)
        self._process.stdout.close()


# Runs in the parent. It stays single-threaded, and never returns into a notebook's code.
_PARENT = """
import importlib, sys
import sourcebench
for name in sys.argv[1:]:
    importlib.import_module(name)
for name in sourcebench.__all__:
    getattr(sourcebench, name)
from sourcebench.warm import serve_forks
serve_forks()
"""


def serve_forks() -> None:
    """Fork one kernel for each request line on standard input, until it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the kernels
    alive, ours = os.pipe()  # nobody writes: it closes when this process ends, however it ends
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _become_kernel(request, alive)
        print(pid, flush=True)


def _end_with_parent(alive: int) -> None:
    """End this process when the other end of the pipe is closed."""
    os.read(alive, 1)
    os._exit(1)


def _become_kernel(request: dict[str, Any], alive: int) -> None:
    """Turn this fork into a notebook kernel; it ends with the kernel, or with its parent."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.chdir(request["cwd"])
        os.environ.update(request["env"])
        sys.path.insert(0, "")
        from ipykernel.kernelapp import launch_new_instance

        sys.argv = ["ipykernel_launcher", "-f", request["file"]]
        launch_new_instance(argv=["-f", request["file"], "--log-level=CRITICAL"])
    finally:
        os._exit(0)


class _Forked:
    """Stands in for the Popen object of a kernel that is not our own child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid

    def poll(self) -> int | None:
        """Return None while the process lives, else 0."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Wait until the process is gone."""
        while self.poll() is None:
            time.sleep(0.01)
        return 0

    def send_signal(self, signum: int) -> None:
        """Send a signal, if there is still someone to get it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


class _ForkProvisioner(LocalProvisioner):
    """Gets its kernel from a nursery instead of starting a program."""

    nursery = AnyTrait()

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Fork a kernel for the connection file of our manager."""
        env = {k: v for k, v in kwargs.get("env", {}).items() if os.environ.get(k) != v}
        pid = self.nursery.fork(self.parent.connection_file, kwargs.get("cwd"), env)
        self.process = _Forked(pid)
        self.pid = self.pgid = pid
        return self.connection_info


def this_environment() -> KernelSpec:
    """Return the kernel of the environment that runs this code, whatever a notebook names."""
    return KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="Python 3",
        language="python",
    )


@contextlib.contextmanager
def kernel_managers() -> Iterator[type[AsyncKernelManager]]:
    """Give a kernel manager class for papermill or nbclient: warm where the system can fork.

    Kernels talk over Unix sockets, which avoids both open ports and races for port numbers.
    """
    nursery = Nursery() if hasattr(os, "fork") else None
    sockets = Path(
        tempfile.mkdtemp(prefix="kernels-")
    )  # short: a socket's path has about 100 characters

    class Manager(AsyncKernelManager):
        """Starts kernels of this environment."""

        @property
        def kernel_spec(self) -> KernelSpec:
            return this_environment()

        async def _async_pre_start_kernel(self, **kwargs: Any):
            if nursery is not None:
                self.transport = "ipc"
                self.ip = str(sockets / uuid.uuid4().hex[:8])
                self.provisioner = _ForkProvisioner(
                    kernel_id=kwargs.get("kernel_id", ""),
                    kernel_spec=self.kernel_spec,
                    parent=self,
                    nursery=nursery,
                )
            return await super()._async_pre_start_kernel(**kwargs)

    try:
        yield Manager
    finally:
        if nursery is not None:
            nursery.close()
        shutil.rmtree(sockets, ignore_errors=True)
