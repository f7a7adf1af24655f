"""The flags of `agentworld serve` and of its page, held against the parsers of the installed vLLM and SGLang."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from agentworld_sim.serving import ServerOptions, plan_server
from agentworld_sim.serving.options import DEFAULT_MODEL, Engine
from tests.serving.test_guide import SERVE
from tests.vllm.server import ENVIRONMENT, ROOT, variables

SGLANG: Final = ROOT / "build" / "sglang"
SCRIPT: Final = Path(__file__).with_name("read_flags.py")

SAID: Final[dict[str, dict[str, Any]]] = {
    "vllm": {
        "model": DEFAULT_MODEL,
        "host": "::1",
        "port": 9000,
        "served_model_name": ["world"],
        "max_model_len": 262_144,
        "tensor_parallel_size": 2,
        "data_parallel_size": 3,
        "reasoning_parser": "qwen3",
        "language_model_only": True,
        "trust_remote_code": True,
        "enable_prefix_caching": True,
        "enable_prompt_tokens_details": True,
        "enable_chunked_prefill": False,
        "api_key": None,
    },
    "sglang": {
        "model_path": DEFAULT_MODEL,
        "host": "::1",
        "port": 9000,
        "served_model_name": "world",
        "context_length": 262_144,
        "tp_size": 2,
        "dp_size": 3,
        "reasoning_parser": "qwen3",
        "trust_remote_code": True,
        "enable_cache_report": True,
        "api_key": "sk-secret",
    },
}
"""What each engine should make of the same options."""


def command(engine: Engine, extra: tuple[str, ...] = (), **options: Any) -> list[str]:
    """The arguments of `python` that start the engine."""
    asked = ServerOptions(engine=engine, extra=extra, **options)
    return list(plan_server(asked, ENVIRONMENT).command.argv[1:])


def read(engine: Engine, *commands: list[str]) -> list[dict[str, Any]]:
    """What the engine's own parser makes of them."""
    done = subprocess.run(
        [ENVIRONMENT / "bin" / "python", SCRIPT],
        input=json.dumps(commands),
        env={**os.environ, **variables("sk-secret"), "PYTHONPATH": str(SGLANG)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_every_flag_is_read_by_the_engine_as_it_is_meant(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-secret")
    whole = command(
        engine,
        tensor_parallel_size=2,
        data_parallel_size=3,
        host="::1",
        port=9000,
        served_model_name="world",
    )
    mine = [
        command(engine, tuple(shlex.split(line.partition(" -- ")[2])))
        for line in SERVE
        if " -- " in line and ("--engine sglang" in line) == (engine == "sglang")
    ]
    assert mine
    told, *others = read(engine, whole, *mine, [*whole, "--enable-cache", "--no-such-flag"])
    assert {name: told["values"].get(name) for name in SAID[engine]} == SAID[engine]
    assert [one["unknown"] for one in (told, *others[:-1])] == [[]] * (len(mine) + 1)
    # Neither a beginning of a flag nor an unknown one gets through.
    assert others[-1]["unknown"] == ["--enable-cache", "--no-such-flag"]
