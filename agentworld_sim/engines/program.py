"""Tools as programs that a model wrote and recordings accepted: what was imagined is computed from then on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from agentworld_sim.engines.call_question import values_of_operations
from agentworld_sim.engines.model import CallImagining
from agentworld_sim.engines.model_binding import TURN_US
from agentworld_sim.engines.sandbox import ProgramFailure, run_program
from agentworld_sim.engines.stubs import stub_observation
from agentworld_sim.engines.table import TableEngine, records_in
from agentworld_sim.errors import CannotCompute, EngineFailure, UsageError, nearest
from agentworld_sim.ports import Answer, Imaginer, StepContext
from agentworld_sim.ports.blocking import off_loop
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A tool as code."""

    input_schema: Mapping[str, Any]
    """Of the tool as it was recorded."""
    output_schema: Mapping[str, Any] | None
    code: str
    """Defines `answer(arguments, tables, now, seed)`; see `run_program`."""
    kinds: list[str]
    """How calls of it came out in the recordings (`outcome_kind`); any other way would be a guess."""
    held_out: int
    """Recordings that it reproduced and its author had not seen."""


def write_programs(path: Path, programs: Mapping[str, Program]) -> None:
    """Writes programs by tool name."""
    value = {name: asdict(one) for name, one in programs.items()}
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def load_programs(path: Path) -> dict[str, Program]:
    """What `write_programs` wrote. Raises `UsageError` where it is something else."""
    try:
        value = json.loads(path.read_text("utf-8"))
        return {name: Program(**one) for name, one in value.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{str(path)!r} holds no programs ({type(error).__name__}: {error}). `agentworld bench"
            " compile RECORDING --output FILE` writes them."
        ) from None


def outcome_kind(observation: Observation, arguments: Mapping[str, Any]) -> str:
    """How a call came out: a failure by its message without what the call gave, else by the answer's fields."""
    try:
        value: object = json.loads(observation.text)
    except ValueError:
        value = observation.text
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
    if not observation.is_error and "error" not in fields:
        return " ".join([type(cast("Any", value)).__name__, *sorted(fields)])
    text = str(fields.get("error", observation.text))
    for given in sorted(map(str, arguments.values()), key=len, reverse=True):
        text = text.replace(given, "") if given else text
    return "failure " + re.sub(r"[\d\W_]+", " ", text).strip()


class CompiledEngine:
    """Implements `Engine` and `EngineSession` for the tools that have a program. It knows nothing but the state it
    is given."""

    name = "compiled"
    route: Literal["compute"] = "compute"

    def __init__(
        self, programs: Mapping[str, Program], tables: TableEngine, imaginer: Imaginer | None = None
    ) -> None:
        """
        Args:
            programs: By tool name.
            tables: Reads and changes the records of worlds.
            imaginer: Answers a call whose program gives no answer.
        """
        self._programs = dict(programs)
        self._tables = tables
        self._imaginer = imaginer

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"{self.name}/{tool.name}"
        known = self._programs.get(tool.name)
        if known is None or tool.domain not in (None, "mcp") or tool.binds_to not in (None, own):
            return None
        if (tool.input_schema, tool.output_schema) != (known.input_schema, known.output_schema):
            raise UsageError(
                f"the program for {tool.name!r} was accepted for a tool with another input or output schema."
                " Record this version of it and compile again, or take it out of the file of programs."
            )
        return replace(tool, domain="mcp", binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return f"No program is given for {tool.name!r}.{nearest(tool.name, self._programs)}"

    async def open(self, state: WorldState, blobs: Blobs) -> CompiledEngine:
        return self

    async def answer(self, context: StepContext) -> Answer:
        try:
            return await off_loop(lambda: self._compute(context), brief=False)
        except ValueError as failure:
            reason = str(failure)
        if self._imaginer is None:
            raise CannotCompute(
                f"the program for {context.call.name!r} gave no answer: {reason}. Nothing was changed. Name a"
                " language world model that imagines it instead (AGENTWORLD_MODEL_URL), or compile the"
                " tool again."
            )
        answer = await CallImagining(self._imaginer, self._tables).answer(context)
        about = f"observation, since the program failed: {reason}"
        exchanges = tuple(replace(one, about=about) for one in answer.exchanges)
        return replace(answer, exchanges=exchanges)

    def _compute(self, context: StepContext) -> Answer:
        # As when it was accepted: no table is inferred from tools.
        context = replace(context, tools={})
        call, state = context.call, context.state
        program = self._programs[call.name]
        given, operations = run_program(
            program.code,
            call.arguments,
            self._records(state),
            clock_us=state.clock_us,
            seed=context.seed,
        )
        try:
            observation = stub_observation(given, context.tool)
        except EngineFailure as failure:
            raise ProgramFailure(str(failure)) from None
        if outcome_kind(observation, call.arguments) not in program.kinds:
            raise ProgramFailure(f"no recording came out like {observation.text[:80]!r}")
        values = values_of_operations(operations, observation, self._tables, context)
        return Answer(observation, StateChange(clock_us=state.clock_us + TURN_US, values=values))

    def _records(self, state: WorldState) -> dict[str, dict[str, Any]]:
        """Table to key to record; where one field names a record, its value is the key."""
        plan = self._tables.plan(())
        found: dict[str, dict[str, Any]] = {}
        for name, records in records_in(state, plan).items():
            table = plan.tables.get(name)
            only = table.key[0] if table and len(table.key) == 1 and not table.scope else ""
            found[name] = {str(one.get(only, key)): dict(one) for key, one in records.items()}
        return found

    def close(self) -> None:
        pass
