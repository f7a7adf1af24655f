"""One way to imagine: every engine brings its questions to the same imaginer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import AccessRefused, ObservationRejected, Scenario, ToolCall, ToolSpec, World
from agentworld_sim.checks import DEFAULT_CHECKS, CheckInput
from agentworld_sim.engines.call_question import CallQuestion
from agentworld_sim.engines.shell import CommandAnswer, CommandQuestion, FileOperation
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.ports import (
    Answer,
    ImaginedValue,
    PromptContext,
    Question,
    QuestionKey,
    StepContext,
)
from agentworld_sim.types import MemoryBlobs, StateChange, WorldState
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.turns import Observation

T = TypeVar("T")

OFFICE = Scenario.parse("name: office\ndomains: [swe]\ninstruction: Tidy up.\nseed: 4\n")
NOTE = {"type": "object", "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}}
TOOLS = (
    ToolSpec(
        name="create_note",
        input_schema={
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
        output_schema=NOTE,
    ),
    ToolSpec(
        name="list_notes",
        input_schema={"type": "object", "properties": {"mood": {"type": "string"}}},
        output_schema={
            "type": "object",
            "properties": {"notes": {"type": "array", "items": NOTE}},
            "required": ["notes"],
        },
    ),
    ToolSpec(name="weather"),
    ToolSpec(
        name="navigate_browser",
        input_schema={
            "type": "object",
            "properties": {"url": {"type": "string"}},
            "required": ["url"],
        },
    ),
)


def page(status: int = 200) -> str:
    return f'{{"status": {status}, "url": "https://x.test/", "html": "<p>hi</p>"}}'


class Dreaming:
    """Implements `WorldImaginer` and `Imaginer`: says what it was given, by tool or command."""

    name = "dreams"

    def __init__(self, answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.answers = answers
        self.keys: list[QuestionKey] = []
        self.prompt_context: PromptContext | None = None
        self.users: set[object] = set()

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> Dreaming:
        self.prompt_context = prompt_context
        return self

    def acquire(self, user: object) -> None:
        self.users.add(user)

    async def release(self, user: object) -> None:
        self.users.discard(user)

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        self.keys.append(question.key)
        answers = self.answers[question.key.name]
        for last, answer in zip([*[False] * (len(answers) - 1), True], answers, strict=True):
            imagined = ImaginedValue(question.load(answer), "imagined")
            try:
                await question.judge(imagined, context)
            except ObservationRejected:
                if last:
                    raise
            else:
                return imagined
        raise AssertionError("the last answer is given or refused")


async def test_every_engine_asks_the_same_imaginer() -> None:
    dreaming = Dreaming(
        {
            "kubectl": [{"stdout": "b\na\n"}],
            "weather": [{"text": "Rain."}],
            "list_notes": [{"text": '{"notes": []}', "structured": {"notes": []}}],
            "load_page": [{"text": page()}],
        }
    )
    calls = {
        "b\na\n": ToolCall("bash", {"command": "kubectl get pods | cat"}),
        "Rain.": ToolCall("weather", {}),
        '{"notes": []}': ToolCall("list_notes", {"mood": "sad"}),
        "Navigating to https://x.test returned status code 200": ToolCall(
            "navigate_browser", {"url": "https://x.test"}
        ),
    }
    async with await World.create(OFFICE, model=dreaming) as world:
        world.add_tools([ToolSpec(name="bash", binds_to="shell/run"), *TOOLS])
        assert dreaming.users == {world}
        for text, call in calls.items():
            observation = (await world.step(call)).observation
            assert (observation.text, observation.provenance) == (text, "imagined")
    assert [(key.kind, key.name) for key in dreaming.keys] == [
        ("command", "kubectl"),
        ("tool", "weather"),
        ("tool", "list_notes"),
        ("tool", "load_page"),
    ]
    assert dreaming.users == set()
    assert dreaming.prompt_context is not None
    assert (dreaming.prompt_context.task, dreaming.prompt_context.seed) == ("Tidy up.", 4)


class NoFailures:
    name = "no-failures"
    scope: Literal["all", "imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        return "the site is up" if "500" in given.observation.text else None


async def test_checks_judge_what_a_browser_makes_of_an_imagined_page() -> None:
    checks = (*DEFAULT_CHECKS, NoFailures())
    dreaming = Dreaming({"load_page": [{"text": page(500)}, {"text": page()}]})
    call = ToolCall("navigate_browser", {"url": "https://x.test"})
    async with await World.create(OFFICE, model=dreaming, checks=checks) as world:
        world.add_tools(TOOLS)
        turn = await world.step(call)
        verdicts = [
            (one.accepted, one.attempt) for one in turn.checks if one.check == "no-failures"
        ]
        assert verdicts == [(False, 1), (True, 2)]
        dreaming.answers = {"load_page": [{"text": page(500)}]}
        with pytest.raises(ObservationRejected, match="'navigate_browser': no-failures: the site"):
            await world.step(ToolCall("navigate_browser", {"url": "https://y.test"}))
        assert (await world.trajectory()).turns == (turn,)


async def test_a_recorded_page_that_is_none_fails_the_step() -> None:
    dreaming = Dreaming({"load_page": [{"text": "a page"}]})
    async with await World.create(OFFICE, model=dreaming) as world:
        world.add_tools(TOOLS)
        with pytest.raises(ObservationRejected, match="no page came of the recorded answer"):
            await world.step(ToolCall("navigate_browser", {"url": "https://x.test"}))


async def test_a_command_that_is_to_be_imagined_needs_an_imaginer() -> None:
    routed = Scenario.parse("name: r\ndomains: [swe]\nroutes: {commands: {git: imagine}}\n")
    async with await World.create(routed, model=False) as world:
        turn = await world.step(ToolCall("Bash", {"command": "kubectl get pods"}))
        assert "command not found" in turn.observation.text
        with pytest.raises(AccessRefused, match="'git log' has the route 'imagine'"):
            await world.step(ToolCall("Bash", {"command": "git log"}))


async def test_the_last_one_to_use_a_model_closes_its_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = WorldModel(ModelSettings(url="http://127.0.0.1:9/v1"))
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    monkeypatch.setattr(model.client, "close", close)
    first, second = await World.create(model=model), await World.create(model=model)
    await first.close()
    await first.close()
    assert not closed
    await second.close()
    assert closed == [True]


operations = st.builds(
    FileOperation,
    kind=st.sampled_from(("write", "append", "mkdir")),
    path=st.text(min_size=1),
    mode=st.none() | st.integers(0, 0o777),
)
command_answers = st.builds(
    CommandAnswer,
    stdout=st.text(),
    stderr=st.text(),
    exit_code=st.integers(0, 255),
    operations=st.lists(operations, max_size=2).map(tuple),
)


@given(command_answers)
def test_a_command_is_loaded_as_it_was_dumped(answer: CommandAnswer) -> None:
    question = CommandQuestion(
        argv=("git",),
        stdin=None,
        cwd="/",
        env={},
        user="root",
        hostname="h",
        clock_us=0,
        validate=lambda _: None,
    )
    assert question.load(question.dump(answer)) == answer


@given(st.text(), st.booleans(), st.dictionaries(st.text(), st.integers()))
def test_a_call_is_loaded_as_it_was_dumped(
    text: str, is_error: bool, values: dict[str, int]
) -> None:
    async def none(*_: object) -> Any:
        return ()

    state = WorldState(files=FileTree.from_entries(()), clock_us=5, seed=1)
    context = StepContext(
        call=ToolCall("weather"),
        tool=TOOLS[2],
        state=state,
        seed=1,
        blobs=MemoryBlobs(),
        history=none,
        failures=none,
        state_at=none,
    )
    question = CallQuestion(
        call=ToolCall("weather", {}), tool=TOOLS[2], context=context, history=()
    )
    change = StateChange(clock_us=1_000_005, values=values)
    answer = Answer(Observation(text=text, is_error=is_error), change)
    assert question.load(question.dump(answer)) == answer
