"""The command line that is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.serving import ServerOptions
from agentworld_sim.serving._command import build_command
from agentworld_sim.serving._machine import Weights, find_weights

DEFAULT = "Qwen/Qwen-AgentWorld-35B-A3B"
NONE: dict[str, str] = {"HF_HUB_CACHE": "/nowhere"}


def flags(*extra: str, **options: Any) -> list[str]:
    """What the server is given, without `python -m MODULE`."""
    asked = ServerOptions(**options, extra=extra)
    weights = find_weights(asked.model, NONE)
    return list(build_command(asked, python="python", weights=weights, environment={}).argv[3:])


def test_the_default_model_gets_the_flags_it_needs() -> None:
    assert flags() == [
        *("--model", DEFAULT, "--host", "127.0.0.1", "--port", "8000"),
        *("--served-model-name", DEFAULT, "--max-model-len", "262144"),
        *("--reasoning-parser", "qwen3", "--language-model-only", "--trust-remote-code"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
    ]


def test_sglang_gets_them_in_its_own_spelling() -> None:
    assert flags(engine="sglang", tensor_parallel_size=2, data_parallel_size=3) == [
        *("--model-path", DEFAULT, "--host", "127.0.0.1", "--port", "8000"),
        *("--served-model-name", DEFAULT),
        *("--tensor-parallel-size", "2", "--data-parallel-size", "3"),
        *("--context-length", "262144", "--reasoning-parser", "qwen3", "--trust-remote-code"),
        "--enable-cache-report",
    ]


def test_another_model_gets_only_what_applies() -> None:
    assert flags(model="org/Other-8B")[6:] == [
        *("--served-model-name", "org/Other-8B"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
    ]
    assert "--reasoning-parser" in flags(model="Qwen/Qwen3-8B")
    assert "--language-model-only" not in flags(model="Qwen/Qwen3-8B")


@pytest.mark.parametrize(("kind", "only"), [("qwen3_5_moe", True), ("qwen3_5_moe_text", False)])
def test_a_folder_is_known_by_its_config(tiny_model: Path, kind: str, only: bool) -> None:
    tiny_model.joinpath("config.json").write_text(json.dumps({"model_type": kind}))
    built = flags(model=str(tiny_model))
    assert ("--language-model-only" in built, "--trust-remote-code" in built) == (only, only)
    assert "--reasoning-parser" in built


def test_on_a_processor_no_prompt_is_split_unless_extra_arguments_say_so() -> None:
    def built(*extra: str, **options: Any) -> tuple[str, ...]:
        asked = ServerOptions(**options, extra=extra)
        weights = Weights(DEFAULT)
        return build_command(asked, python="python", weights=weights, cpu=True, environment={}).argv

    assert built()[-1] == "--no-enable-chunked-prefill"
    assert "--no-enable-chunked-prefill" not in built("--enable-chunked-prefill")
    assert "--no-enable-chunked-prefill" not in built(engine="sglang")


def test_extra_arguments_win_and_nothing_is_said_twice() -> None:
    built = flags(
        *("--max_model_len=65536", "-tp", "4", "--no-enable-prefix-caching"),
        *("--reasoning-parser", "other", "--gpu-memory-utilization", "0.8"),
        tensor_parallel_size=2,
    )
    assert built[6:] == [
        *("--served-model-name", DEFAULT, "--language-model-only", "--trust-remote-code"),
        "--enable-prompt-tokens-details",
        *("--max_model_len=65536", "-tp", "4", "--no-enable-prefix-caching"),
        *("--reasoning-parser", "other", "--gpu-memory-utilization", "0.8"),
    ]


OURS = (
    *("--host", "--port", "--served-model-name", "--max-model-len", "--reasoning-parser"),
    *("--tensor-parallel-size", "--data-parallel-size"),
)


@given(st.dictionaries(st.sampled_from(OURS), st.integers(1, 60_000)), st.booleans())
def test_whatever_extra_arguments_say_each_flag_is_given_once(
    extra: dict[str, int], joined: bool
) -> None:
    parts = [
        part
        for flag, value in extra.items()
        for part in ([f"{flag}={value}"] if joined else [flag, str(value)])
    ]
    built = flags(*parts, tensor_parallel_size=2, data_parallel_size=2)
    said = [part.partition("=")[0] for part in built if part.startswith("--")]
    assert len(said) == len(set(said))
    assert built[len(built) - len(parts) :] == parts


def test_host_port_and_name_after_the_dashes_are_where_it_is_looked_for() -> None:
    extra = ("--host", "0.0.0.0", "--port=9000", "--served-model-name", "world")
    asked = ServerOptions(extra=extra)
    command = build_command(asked, python="python", weights=Weights(DEFAULT), environment={})
    assert (command.url, command.model) == ("http://127.0.0.1:9000/v1", "world")


def test_an_ipv6_address_is_written_into_the_url_in_brackets() -> None:
    asked = ServerOptions(host="::1")
    command = build_command(asked, python="python", weights=Weights(DEFAULT), environment={})
    assert command.url == "http://[::1]:8000/v1"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (("--api-key", "sk-secret"), "AGENTWORLD_API_KEY"),
        (("--api_key=sk-secret",), "AGENTWORLD_API_KEY"),
        (("--model", "other"), "before the `--`"),
        (("Qwen/Other",), "named with --model"),
    ],
)
def test_extra_arguments_that_cannot_be_right_are_refused(
    extra: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        flags(*extra)
    assert "sk-secret" not in str(raised.value)


def test_a_shown_command_hides_the_key() -> None:
    variables = {"AGENTWORLD_API_KEY": "sk-secret"}
    command = build_command(
        ServerOptions(), python="/env/bin/python", weights=Weights(DEFAULT), environment=variables
    )
    shown = " ".join([*command.shown_variables(), repr(command)])
    assert "sk-secret" not in shown
    assert "VLLM_API_KEY=***" in command.shown_variables()
    assert command.environment({"PATH": "/bin", **variables}) == {
        "DO_NOT_TRACK": "1",
        "PATH": "/env/bin:/bin",
        "VLLM_API_KEY": "sk-secret",
        "VLLM_NO_USAGE_STATS": "1",
    }


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_no_key_is_in_an_argument_or_in_what_is_shown(engine: Any) -> None:
    command = build_command(
        ServerOptions(engine=engine),
        python="/env/bin/python",
        weights=Weights(DEFAULT),
        environment={"AGENTWORLD_API_KEY": "sk-secret"},
    )
    shown = [*command.argv, *command.shown_variables(), repr(command)]
    assert "sk-secret" not in " ".join(shown)
    assert "sk-secret" in command.environment({}).values()
