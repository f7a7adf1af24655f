"""Records the shapes of the real server's answers in `tests/data/vllm_0_32_shapes.json`.

`.venv/bin/python -m tests.vllm.shapes` writes the file; a test holds the server to it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, cast

import httpx2

from tests.vllm.asking import SCHEMA, chat, chunks, request
from tests.vllm.server import MODEL, serve

FILE: Final = Path(__file__).resolve().parents[1] / "data" / "vllm_0_32_shapes.json"


def settled(value: Any) -> Any:
    """`value` without what differs from run to run: ids, times, paths and the build."""
    text = json.dumps(value).replace(str(MODEL), "tiny")
    text = re.sub(r'"(chatcmpl|modelperm)-[0-9a-f]+"', r'"\1-0"', text)
    text = re.sub(r'"created": \d+', '"created": 0', text)
    text = re.sub(r"\[\d\d:\d\d:\d\d\] [^:\"]*:\d+: ", "", text)
    return json.loads(re.sub(r'"vllm-([\d.]+)-[0-9a-f]+"', r'"vllm-\1"', text))


def streamed(http: httpx2.Client) -> dict[str, Any]:
    """One chunk of each kind, in the order in which they come."""
    parts = chunks(http, stream_options={"include_usage": True})
    deltas: list[dict[str, Any]] = [
        (part["choices"][0]["delta"] if part["choices"] else {}) for part in parts
    ]
    return {
        "first": parts[0],
        "reasoning": next(
            p for p, delta in zip(parts, deltas, strict=True) if "reasoning" in delta
        ),
        "content": next(p for p, delta in zip(parts, deltas, strict=True) if delta.get("content")),
        "finish": parts[-2],
        "usage": parts[-1],
    }


def refusals(http: httpx2.Client, root: str) -> dict[str, httpx2.Response]:
    url = "/v1/chat/completions"
    return {
        "wrong_key": httpx2.get(f"{root}/v1/models", headers={"Authorization": "Bearer other"}),
        "wrong_path": http.get("/v1/nothing"),
        "wrong_method": http.get(url),
        "wrong_model": chat(http, model="other"),
        "no_json": http.post(url, content=b"{no", headers={"Content-Type": "application/json"}),
        "no_messages": http.post(url, json={"model": "tiny"}),
        "empty_messages": chat(http, messages=[]),
        "prompt_too_long": chat(
            http, messages=[{"role": "user", "content": "hello world " * 6000}]
        ),
        "max_tokens_too_large": chat(http, max_tokens=8193),
        "bad_temperature": chat(http, temperature=-1),
        "bad_thinking_budget": chat(http, thinking_token_budget=-2),
        "bad_schema": chat(http, structured_outputs={"json": {"type": "nonsense"}}),
        "refused_by_template": chat(http, messages=[{"role": "alien", "content": "x"}]),
    }


def capture(http: httpx2.Client, root: str) -> dict[str, Any]:
    """Every shape, asked of a running server."""
    without = {"chat_template_kwargs": {"enable_thinking": False}}
    answers = {
        "models": http.get("/v1/models"),
        "version": http.get("/version"),
        "completion": chat(http),
        "completion_cut_in_thinking": chat(http, max_tokens=3),
        "completion_without_thinking": chat(http, **without),
        "completion_with_grammar": chat(http, structured_outputs={"json": SCHEMA}),
        "completion_with_token_ids": chat(http, return_token_ids=True, max_tokens=3),
    }
    errors = {
        name: {"status": refused.status_code, "body": refused.json()}
        for name, refused in refusals(http, root).items()
    }
    bodies = {name: answer.json() for name, answer in answers.items()}
    return settled({**bodies, "request": request(), "stream": streamed(http), "errors": errors})


def shape(value: Any) -> Any:
    """The keys and the kinds of values, without the values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [shape(item) for item in cast("list[Any]", value)[:1]]
    return type(value).__name__


def main() -> None:
    with serve() as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx2.Client(base_url=server.root, headers=headers, timeout=120) as http:
            text = json.dumps(capture(http, server.root), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")


if __name__ == "__main__":
    main()
