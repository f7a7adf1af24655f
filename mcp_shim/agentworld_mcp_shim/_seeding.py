"""Scenarios that begin with the records that recorded traffic shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.scenario import Scenario


def seeded(scenario: Scenario | None, path: Path) -> Scenario:
    """The scenario with the records of a cassette in its tables, beside its own.

    The records stand in the scenario, so a world that began so is reopened without the cassette.

    Raises:
        UsageError: it is no cassette, shows no records, or shows some that the scenario's tables do not
            allow.
    """
    from pydantic import ValidationError

    from agentworld_sim.cassette import Cassette
    from agentworld_sim.engines.table import plan_of
    from agentworld_sim.engines.table.seeds import records_from, with_records
    from agentworld_sim.scenario import empty_scenario
    from agentworld_sim.scenario.tables import TableSpec

    begun = scenario or empty_scenario()
    cassette = Cassette.load(path)
    plan = plan_of(
        # As a client was shown them: nothing else has bound them yet.
        [replace(tool, domain="mcp") for tool in cassette.tools],
        operations={name: spec.to_operation(name) for name, spec in begun.operations.items()},
        tables={name: spec.to_table(name) for name, spec in begun.tables.items()},
    )
    tools = {tool.name: tool for tool in cassette.tools}
    records = records_from(cassette.trajectory.turns, plan, tools=tools)
    if not records:
        raise UsageError(
            f"--seed-from {str(path)!r}: its calls show no records that a tool's operation explains."
            " `agentworld mcp explain` shows how the tools are understood."
        )
    tables = dict(begun.tables)
    for name, table in with_records(plan, records).items():
        if name not in records:
            continue
        said = tables.get(name, TableSpec()).model_dump(mode="json", exclude_unset=True)
        try:
            tables[name] = TableSpec.model_validate({**said, "records": list(table.records)})
        except ValidationError as error:
            raise UsageError(
                f"--seed-from {str(path)!r}: its records do not fit the scenario's table {name!r}:"
                f" {error.errors()[0]['msg']}"
            ) from error
    return begun.model_copy(update={"tables": tables})
