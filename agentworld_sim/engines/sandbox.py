"""A sandbox for programs that a model wrote: another process that can compute, and do nothing else.

The interpreter is Monty, a subset of Python in Rust. It has no files, network or environment; its clock stands still
and its random numbers come from a seed, so the same program says the same every time.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, cast

from agentworld_sim.engines.call_question import OPERATIONS_SCHEMA
from agentworld_sim.extras import require
from agentworld_sim.schema.validate import schema_problem

SECONDS = 5.0
"""Of computing, for one call."""

BYTES = 256 * 1024**2
"""Of memory, for one call."""

DEPTH = 200
"""Of calls within calls."""

ANSWER_CHARACTERS = 1_000_000
"""Of an answer with its operations, as JSON."""

_CALL = "import json as _json\n_json.dumps(answer(**_json.loads(_given)))"

_FORMS = {"text": str, "error": str, "value": object}
"""What a program gives: a text, a JSON value, or the error with which the tool fails."""


class ProgramFailure(ValueError):
    """A program gave no answer that can be used; that is nothing the simulated system said."""


def run_program(
    code: str,
    arguments: Mapping[str, Any],
    tables: Mapping[str, Any],
    *,
    clock_us: int,
    seed: int,
    seconds: float = SECONDS,
) -> tuple[Mapping[str, Any], list[Any]]:
    """What a program answers to a call, and the operations on records that go with it. Blocks.

    Args:
        code: Defines `answer(arguments, tables, now, seed)`.
        tables: Table to key to record.
        clock_us: The time that the program sees.
        seed: Where its chance comes from.
        seconds: After which it is ended.

    Returns:
        A mapping with one key, `text`, `value` or `error`; and operations of `OPERATIONS_SCHEMA`.

    Raises:
        ProgramFailure: it raised, was ended, or gave something else.
        UsageError: the extra `compiled` is not installed.
    """
    monty = require("pydantic_monty", extra="compiled")
    now = datetime.fromtimestamp(clock_us / 1e6, UTC)
    given = {"arguments": arguments, "tables": tables, "now": now.isoformat(), "seed": seed}
    limits = {"max_feed_duration_secs": seconds, "max_memory": BYTES, "max_recursion_depth": DEPTH}
    policy = {"datetime": now, "sleep": "zero", "random_start": {"seed": seed}}
    printed, workers = monty.CollectString(), _workers()
    try:
        with workers.checkout(limits=limits, os_policy=policy) as session:
            session.feed_run(code, print_callback=printed)
            inputs = {"_given": json.dumps(given)}
            said = session.feed_run(_CALL, inputs=inputs, print_callback=printed)
    except monty.MontyError as error:
        raise ProgramFailure(str(error)) from None
    return _read(said)


def _read(said: object) -> tuple[Mapping[str, Any], list[Any]]:
    if not isinstance(said, str) or len(said) > ANSWER_CHARACTERS:
        raise ProgramFailure(f"its answer has more than {ANSWER_CHARACTERS:,} characters")
    try:
        value: object = json.loads(said, parse_constant=_refuse_constant)
    except RecursionError:
        raise ProgramFailure("its answer is nested too deeply") from None
    if not isinstance(value, dict):
        raise ProgramFailure(f"it gave {said[:80]}, and not an object with text, value or error")
    answer = cast("dict[str, Any]", value)
    operations = answer.pop("operations", [])
    name = next(iter(answer), "")
    if len(answer) != 1 or not isinstance(answer[name], _FORMS.get(name, ())):
        raise ProgramFailure(
            f"it gave the keys {', '.join(answer) or 'none'}: one of text, value and error is"
            " wanted, of which text and error are strings"
        )
    problem = schema_problem(OPERATIONS_SCHEMA, operations)
    if problem is not None:
        raise ProgramFailure(f"`operations` is not of the form asked for: {problem}")
    return answer, operations


def _refuse_constant(name: str) -> Any:
    raise ProgramFailure(f"{name} is no JSON")


@lru_cache(maxsize=1)
def _workers() -> Any:
    """The processes that run programs, for all worlds of this one."""
    pool = require("pydantic_monty", extra="compiled").Monty().__enter__()
    atexit.register(pool.__exit__, None, None, None)
    return pool
