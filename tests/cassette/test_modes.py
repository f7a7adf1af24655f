"""What each mode does with recorded answers."""

from __future__ import annotations

import textwrap

import pytest

from agentworld_sim import AccessRefused, ModelFailure, ToolCall, World
from agentworld_sim.cassette import CassetteMiss, CassetteMode, CassetteSession
from agentworld_sim.checks import CheckInput
from agentworld_sim.controls import Fault, ServerError
from agentworld_sim.errors import ObservationRejected, UsageError
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest, Reply, ScriptedReply
from tests.cassette.lab import Studio, command, numbered, real, real_call


async def test_once_records_where_there_is_no_cassette_and_replays_where_there_is(
    studio: Studio,
) -> None:
    async with studio.open("once", numbered) as one:
        said = [await one.ask(), await one.ask("Basel"), await one.bash("tool | sort")]
        assert (await one.end()).recorded == 3
    assert studio.asked == 3
    async with studio.open("once", numbered) as one:
        turns = [await one.call("weather", city=city) for city in ("Bern", "Basel")]
        assert [turn.observation.text for turn in turns] == said[:2]
        assert {turn.observation.provenance for turn in turns} == {"replayed"}
        turn = await one.call("Bash", command="tool | sort")
        assert (turn.observation.text, turn.observation.provenance) == (said[2], "replayed")
        report = await one.end()
    assert (report.recorded, report.replayed, report.unused) == (0, 3, ())
    assert studio.asked == 3


async def test_replay_asks_nobody_and_gives_the_same_refs(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        await one.ask()
        await one.bash("echo $RANDOM > made; tool")
        await one.end()
        ref, made = one.world.ref, await one.world.read_file("/srv/app/made")
    async with studio.open("replay") as one:
        await one.ask()
        await one.bash("echo $RANDOM > made; tool")
        assert one.world.ref == ref
        assert await one.world.read_file("/srv/app/made") == made
        assert one.world.model is not None
        assert one.world.model.name == ""


async def test_what_a_rule_made_obey_a_control_is_replayed_so(studio: Studio) -> None:
    outage = ServerError(name="outage", status=503, nth=(9,))

    def disobedient(request: ModelRequest) -> Reply:
        return ScriptedReply.observation("503 Service Unavailable\nSun.")

    said: list[tuple[str, str, str]] = []
    modes: tuple[CassetteMode, ...] = ("once", "replay")
    for mode in modes:
        async with studio.open(mode, disobedient, controls=[outage]) as one:
            turn = await one.call("weather", city="Bern")
            said.append((turn.observation.text, turn.observation.provenance, turn.ref))
            await one.end()
    assert said[0] == said[1]
    assert said[0][:2] == ("Sun.", "enforced")


async def test_without_model_and_without_recording_worlds_compute_as_without_a_model(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_MODEL_URL", "http://127.0.0.1:9/v1")
    modes: tuple[CassetteMode, ...] = ("replay", "once", "live", "verify", "off")
    for mode in modes:
        async with studio.open(mode) as one:
            assert one.world.model is None
            assert "tool: command not found" in await one.bash("tool")
            with pytest.raises(AccessRefused):
                await one.ask()
            assert (await one.end()).recorded == 0
    assert not studio.path.exists()


async def test_what_was_recorded_without_a_model_is_replayed_without_one(studio: Studio) -> None:
    async with studio.open("once") as one:
        await real_call(one.cassette, ToolCall("clock"), one.world, real("noon"))
        await one.end()
    assert "model: false" in studio.text
    async with studio.open("once", numbered) as one:
        assert one.world.model is None
        assert "command not found" in await one.bash("tool")


async def test_a_model_that_was_not_asked_is_remembered_too(studio: Studio) -> None:
    """With a model, programs look installed that otherwise are not there."""
    async with studio.open("once", numbered) as one:
        found = await one.bash("which kubectl")
        await one.end()
    assert "model: true" in studio.text
    async with studio.open("replay") as one:
        assert await one.bash("which kubectl") == found == "/usr/bin/kubectl"


async def test_tools_that_only_a_model_answers_are_there_again_though_nobody_called_them(
    studio: Studio,
) -> None:
    async with studio.open("once", numbered) as one:
        await one.end()
    assert "model: true" in studio.text
    async with studio.open("replay") as one:
        assert one.world.tools["weather"].access == "simulate"
        assert (await one.end()).unused == ()


async def test_a_world_that_nobody_used_leaves_no_cassette(studio: Studio) -> None:
    async with studio.open("once", numbered, tools=()) as one:
        await one.end()
    assert not studio.path.exists()


async def test_calls_that_a_control_answered_are_replayed_with_the_model_they_had(
    studio: Studio,
) -> None:
    async with studio.open(
        "once", numbered, controls=[Fault(name="down", tool="weather", error="503")]
    ) as one:
        assert await one.ask() == "503"
        await one.end()
    async with studio.open(
        "replay", controls=[Fault(name="down", tool="weather", error="503")]
    ) as one:
        assert await one.ask() == "503"


async def test_a_shared_world_that_only_computed_is_replayed_with_the_model_it_had(
    studio: Studio,
) -> None:
    async with studio.open("once", numbered, cassette={"shared": True}, tools=()) as one:
        found = await one.bash("which kubectl")
        await one.end()
    async with studio.open("replay", cassette={"shared": True}, tools=()) as one:
        assert await one.bash("which kubectl") == found == "/usr/bin/kubectl"


async def test_live_asks_for_everything_and_writes_anew(studio: Studio) -> None:
    await studio.record("tool", "other")
    async with studio.open("live", numbered) as one:
        said = [await one.ask(), await one.bash("tool")]
        report = await one.end()
    assert said == ["answer 0", "answer 1"]
    assert (report.recorded, report.unused) == (2, ())
    assert studio.asked == 5
    assert "other" not in studio.text


async def test_verify_compares_and_writes_nothing(studio: Studio) -> None:
    await studio.record("tool")
    before = studio.text
    async with studio.open("verify", numbered) as one:
        await one.ask()
        await one.bash("tool")
        assert (await one.end()).drift == ()

    def other(request: ModelRequest) -> Reply | str:
        if "argv:" in request.last_user:
            return command("one\ntwo\n", exit_code=1)
        return ScriptedReply.observation("sunny")

    async with studio.open("verify", other) as one:
        # The world goes on with what is recorded: what follows is compared as it was asked.
        assert await one.ask() == "answer 0"
        await one.bash("tool")
        await one.bash("new")
        report = await one.end()
    assert "\n".join(report.drift) == textwrap.dedent("""\
        weather({"city":"Bern"}) is answered otherwise:
            --- recorded
            +++ now
            @@ -1 +1 @@
            -text: answer 0
            +text: sunny
        $ tool is answered otherwise:
            --- recorded
            +++ now
            @@ -1 +1,4 @@
            -stdout: "answer 1\\n"
            +stdout: |
            +  one
            +  two
            +exit_code: 1
        $ new was not recorded. Now:
            stdout: |
              one
              two
            exit_code: 1""")
    assert studio.text == before


async def test_what_a_model_was_asked_in_verify_is_told_of_a_step_that_fails(
    studio: Studio,
) -> None:
    class Refused:
        name = "refused"
        scope = "all"

        def judge(self, given: CheckInput) -> str | None:
            return "no" if given.observation.text == "answer 0" else None

    await studio.record()
    async with studio.open("verify", numbered, checks=[Refused()]) as one:
        with pytest.raises(ObservationRejected) as refused:
            await one.ask()
    (exchange,) = refused.value.exchanges
    assert "answer 0" in exchange.content


async def test_verify_compares_what_was_computed(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        await one.bash("echo hello; ls")
        await one.bash("date > f")
        await one.bash("pwd")
        await one.end()
    for _ in range(2):
        async with studio.open("verify", numbered) as one:
            await one.bash("echo hello; ls")
            await one.bash("date > f")
            await one.bash("pwd")
            assert (await one.end()).drift == ()
    studio.path.write_text(studio.text.replace("- Bash", "- Gosh", 1))
    async with studio.open("verify", numbered) as one:
        await one.bash("echo hello; ls")
        await one.bash("pwd; date > f")
        drift = (await one.end()).drift
    assert [line.split("\n")[0].split(" (")[0] for line in drift] == [
        'computed: Bash({"command":"echo hello; ls"}) was not called when this was recorded',
        'computed: Bash({"command":"pwd; date > f"}) was not called when this was recorded',
        "computed: 'Gosh'",
        "computed: 'Bash'",
        "computed: 'Bash'",
    ]


async def test_verify_names_a_computed_call_that_is_answered_otherwise(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        await one.bash("cat a.txt")
        await one.end()
    changed = one.world.scenario.model_copy(update={"files": {}})
    async with studio.open("verify", numbered, scenario=changed) as one:
        await one.bash("cat a.txt")
        (drift,) = (await one.end()).drift
    assert drift.startswith(
        'computed: Bash({"command":"cat a.txt"}) is answered otherwise, or changes something else,'
        " than when this was recorded. Now:\n    Exit code 1\n    cat: a.txt: No such file"
    )


async def test_off_neither_reads_nor_writes(studio: Studio) -> None:
    studio.path.parent.mkdir()
    studio.path.write_text("no cassette at all")
    async with studio.open("off", numbered) as one:
        assert await one.ask() == "answer 0"
        assert (await one.end()).recorded == 0
    assert studio.text == "no cassette at all"


async def test_a_failed_test_writes_nothing(studio: Studio) -> None:
    async with studio.open("once", numbered) as one:
        await one.ask()
        assert (await one.end(passed=False)).recorded == 0
    assert not studio.path.exists()
    await studio.record()
    before = studio.text
    async with studio.open("live", numbered) as one:
        await one.ask()
        await one.ask("Basel")
        await one.end(passed=False)
    assert studio.text == before


@pytest.mark.parametrize("mode", ["live", "verify"])
async def test_modes_that_ask_need_a_model_where_one_recorded(
    studio: Studio, mode: CassetteMode
) -> None:
    await studio.record()
    with pytest.raises(UsageError, match="AGENTWORLD_MODEL_URL"):
        CassetteSession(studio.path, mode).model(None)


async def test_unused_answers_are_named(studio: Studio) -> None:
    await studio.record("tool -x")
    async with studio.open("replay") as one:
        (first, second) = (await one.end()).unused
        assert first.startswith("$ tool -x [")
        assert second.startswith('weather({"city":"Bern"}) [')
        assert (await one.end(passed=False)).unused == ()


async def test_a_model_that_fails_is_no_recorded_answer(studio: Studio) -> None:
    async with studio.open("once", lambda _: ErrorReply(500)) as one:
        with pytest.raises(ModelFailure):
            await one.ask()
        await one.end()
    async with studio.open("replay") as one:
        with pytest.raises(CassetteMiss):
            await one.ask()


async def test_false_is_no_model_whatever_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTWORLD_MODEL_URL", "http://127.0.0.1:9/v1")
    async with await World.create(model=False) as world:
        assert world.model is None
        async with await World.open(world.id, store=world.store, model=False) as again:
            assert again.model is None


async def test_a_switch_of_controls_is_replayed_at_its_place(studio: Studio) -> None:
    outage = {"kind": "fault", "name": "outage", "tool": "weather", "error": "no", "times": 1}
    refs: list[str] = []
    for mode in ("once", "replay"):
        async with studio.open(mode, numbered) as one:
            first = await one.ask()
            await one.world.switch_controls(add=[outage])
            assert [await one.ask(), await one.ask() != first] == ["no", True]
            await one.end()
            refs.append(one.world.ref)
    assert refs[0] == refs[1]
