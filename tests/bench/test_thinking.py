"""Thinking: passages found by their words, and the command that counts them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentworld_sim.bench.predict import Row
from agentworld_sim.bench.scores import Score
from agentworld_sim.bench.thinking import counts_of, trace_of
from agentworld_sim.cli import cli

THOUGHT = """The file was removed, so `cat` fails. Therefore the exit code is 1. The prompt follows.
Wait, the second file is still there. I must not reveal the reference answer.
The agent does not know the name yet. Sorted by name it comes first."""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (THOUGHT, [("self-correction", 7), ("leak prevention", 15), ("causal chain", 13)]),
        ("It fails because the folder is missing. The prompt follows.", []),
        ("Actually the port is 80. Hmm, the log says 81.", [("self-correction", 10)]),
        ("The page is not the agent's. Waiting lists are long. Nothing else happens.", []),
        ("", []),
    ],
)
def test_passages_are_found_by_their_words(text: str, kinds: list[tuple[str, int]]) -> None:
    assert [(one.kind, one.words) for one in trace_of(text).passages] == kinds


def test_shares_are_of_traces_and_lengths_of_passages() -> None:
    counts = counts_of([trace_of(THOUGHT), trace_of("Nothing.")])
    assert counts["self-correction"] == {"share": 50.0, "count": 0.5, "words": 7}


def test_the_command_counts_and_draws(tmp_path: Path) -> None:
    score = Score(text=True, value=True, form=True, state=True, changed=0)

    def write(*thoughts: str) -> str:
        rows = [
            Row(id=f"a/{place}", session="a", tool="t", side="known", score=score, replies=[{"thinking": one}])
            for place, one in enumerate(thoughts)
        ]  # fmt: skip
        lines = [
            json.dumps({"settings": {}}) + "\n",
            *(json.dumps(asdict(row)) + "\n" for row in rows),
        ]
        (tmp_path / "run.jsonl").write_text("".join(lines), encoding="utf-8")
        return str(tmp_path / "run.jsonl")

    page = tmp_path / "page.html"
    call = ["bench", "thinking", write(THOUGHT, "Nothing."), "-o", str(page)]
    done = CliRunner().invoke(cli, [*call, "--json"])
    assert json.loads(done.output)["causal chain"]["share"] == 50.0
    assert "<svg" in page.read_text("utf-8")
    assert "self-correction" in CliRunner().invoke(cli, call).output
    refused = CliRunner().invoke(cli, ["bench", "thinking", write("")])
    assert "--no-thinking forbade it" in " ".join(refused.output.split())
