"""A model server with token ids, as vLLM answers them: real HTTP around a real model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from agentworld_trainers.in_process_policy import InProcessPolicy


class PolicyServer:
    """Serves the model of a folder; dies when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.loads = 0
        self.completions = 0
        self.dies_after: int | None = None
        """Completions after which every connection is dropped."""
        self.url = ""
        self._lock = threading.Lock()
        self.load(folder)

    def load(self, folder: Path) -> None:
        """Takes the weights of a folder."""
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.loads += 1

    def answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        with self._lock:
            if "prompt_logprobs" in asked:
                return {"index": 0, "prompt_logprobs": self._told(asked["prompt"])}
            if self.dies_after is not None and self.completions >= self.dies_after:
                return None
            self.completions += 1
            policy = InProcessPolicy(
                self.model, stop_ids=asked["stop_token_ids"], temperature=asked["temperature"]
            )
            found = asyncio.run(
                policy.complete(
                    tuple(asked["prompt"]), max_tokens=asked["max_tokens"], seed=asked["seed"]
                )
            )
            return {
                "index": 0,
                "token_ids": list(found.token_ids),
                "logprobs": {"token_logprobs": list(found.logprobs)},
                "finish_reason": found.finish,
            }

    def _told(self, prompt: list[int]) -> list[dict[str, Any] | None]:
        with torch.inference_mode():
            logits = self.model(torch.tensor([prompt])).logits[0].log_softmax(-1)
        rest = enumerate(prompt[1:])
        return [None, *({str(id): {"logprob": float(logits[at, id])}} for at, id in rest)]


@contextmanager
def served(folder: Path) -> Generator[PolicyServer]:
    """A server while the block runs."""
    made = PolicyServer(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "coins", "object": "model"}]})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            choice = made.answer(json.loads(body))
            if choice is None:
                self.close_connection = True
                return
            self._send({"object": "text_completion", "choices": [choice]})

        def _send(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        _SERVERS[made.url] = made
        try:
            yield made
        finally:
            del _SERVERS[made.url]
            server.shutdown()
            thread.join()


_SERVERS: dict[str, PolicyServer] = {}


def bring(folder: Path, url: str) -> None:
    """What a recipe names for `rollouts.sync`."""
    _SERVERS[url].load(folder)


def bring_nothing(folder: Path, url: str) -> None:
    """A sync that says all is well."""
