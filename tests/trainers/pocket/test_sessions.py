"""Sessions of the pocket world: templates, what they are split by, and that the same come out again."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import PromptSet
from agentworld_trainers.data import SourceTrajectory, samples_of
from experiments.pocket import pocket_trajectories
from experiments.pocket.mixed import APART, mixed
from experiments.pocket.script import Script
from experiments.pocket.world import FRESH_FROM, PocketSessions, session
from experiments.pocket.world_tasks import TEST, TRAIN, WEIGHTS
from tests.properties import examples

PROMPTS = Path(__file__).resolve().parents[3] / "fixtures" / "pocket-world" / "prompts"


def played(name: str, number: int = 0, seed: int = 0) -> SourceTrajectory:
    return asyncio.run(session(name, number, seed=seed))


def told(source: SourceTrajectory) -> list[tuple[str, str, str]]:
    """Command, thought and answer of each turn."""
    return [
        (str(turn.call.arguments["command"]), source.thinking[number], turn.observation.text)
        for number, turn in enumerate(source.turns, 1)
    ]


def test_train_and_test_templates_are_disjoint() -> None:
    assert not TRAIN.keys() & TEST.keys()
    assert not {one.__code__.co_code for one in TEST.values()} & {
        one.__code__.co_code for one in TRAIN.values()
    }
    assert WEIGHTS.keys() <= TRAIN.keys()
    assert 15 <= len(TRAIN) <= 45


@settings(max_examples=examples(25))
@given(st.integers(min_value=0))
def test_no_test_session_is_a_train_session(seed: int) -> None:
    def commands(name: str) -> tuple[str, ...]:
        script = Script(Random(seed))
        ({**TRAIN, **TEST})[name](script)
        return tuple(script.commands)

    assert not {commands(name) for name in TEST} & {commands(name) for name in TRAIN}


@settings(max_examples=examples(25))
@given(st.integers(min_value=0), st.sampled_from(sorted({**TRAIN, **TEST})))
def test_every_template_writes_a_short_session(seed: int, name: str) -> None:
    script = Script(Random(seed))
    ({**TRAIN, **TEST})[name](script)
    assert 1 <= len(script.commands) <= 9
    assert all(command and "\n" not in command for command in script.commands)


KIND = re.compile(
    r"(?P<cp>cp )|(?P<mv>mv )|(?P<rm>rm )|(?P<ends>head |tail )|(?P<grep>grep )|(?P<ls>ls)"
    r"|(?P<status>echo \$\?)|(?P<append>echo .* >> )|(?P<overwrite>echo .* > )"
)
"""What kind of command one is, as far as the test templates put kinds together."""


@settings(max_examples=examples(300))
@given(st.integers(min_value=0))
def test_no_mixed_session_has_what_the_test_templates_put_together(seed: int) -> None:
    script = Script(Random(seed))
    mixed(script)
    there = set(script.files)
    kinds: list[str] = []
    for command in script.commands:
        assert not re.search(r"\$\w+ >|[|;]|cd |for |/", command.replace(" || ", " or "))
        found = KIND.match(command)
        if found is None:
            continue
        kind = str(found.lastgroup)
        target = command.split()[-1]
        if kind == "overwrite" and target not in there:
            kind = "make"
        there.add(target)
        kinds.append(kind)
    assert not [pair for pair in APART if pair <= set(kinds)]
    assert kinds.count("mv") <= 1


def test_the_same_seed_makes_the_same_samples() -> None:
    prompts = PromptSet.load(PROMPTS)
    first, again = (samples_of(played("append"), prompts=prompts) for _ in range(2))
    assert first == again
    assert first != samples_of(played("append", seed=1), prompts=prompts)


def test_a_sample_is_a_short_prompt_in_the_wire_form() -> None:
    (*_, last) = samples_of(played("copy"), prompts=PromptSet.load(PROMPTS))
    assert last.domain == "swe"
    assert last.thinking and last.evidence
    assert last.messages[0]["content"].startswith("A bash session in /data.")
    assert last.messages[-1]["content"].startswith(f"### Turn {last.turn}\n**Action:**\n```json\n")
    assert sum(len(message["content"]) for message in last.messages) < 2000


def test_observations_are_those_of_the_shell_and_thoughts_are_true() -> None:
    assert told(played("missing", seed=3))[-1][2].endswith("No such file or directory\n")
    for command, thought, answer in told(played("given-lines")):
        name = command.removeprefix("cat ")
        assert thought == f"- {name}: {', '.join(answer.splitlines())}"


def test_the_source_knows_how_many_sessions_it_has() -> None:
    few = pocket_trajectories({"train": 1, "test": 2}, 0)
    assert len(few) == len(few.sessions)
    splits = {name: source.split for name, source in zip(few.sessions, few, strict=True)}
    assert {split for (name, _), split in splits.items() if name in TEST} == {"test"}
    assert {split for (name, _), split in splits.items() if name in TRAIN} == {"train"}


def test_sessions_for_scores_are_never_trained_on() -> None:
    source = pocket_trajectories({"train": 1000, "test": 1000}, 0)
    assert max(number for _, number in source.sessions) < FRESH_FROM


@pytest.mark.slow
def test_many_sessions_are_played_on_all_cores_in_the_same_order() -> None:
    names = tuple(("words", number) for number in range(520))
    alone = [told(played("words", number)) for number in range(520)]
    assert [told(source) for source in PocketSessions(names, 0)] == alone


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no setting 'trian'.* 'train'"):
        pocket_trajectories({"trian": 3}, 0)
