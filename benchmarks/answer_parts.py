"""What each part that makes imagined answers better costs a request, in CPU time of our process.

The scripted server answers at once, from a process of its own. Each part stands alone, beside a world that has the
same records and none of the parts.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim import ModelSettings, Scenario, ToolCall, ToolSpec, World, WorldModel
from agentworld_sim.imagination.examples import Example, write_examples
from benchmarks._rows import Row, run
from benchmarks.model import served

STEPS = 200
RECORDED = 1285
"""As many as the side `train` of BFCL has."""
TOOLS = 40

TRACK = ToolSpec(
    name="track_0",
    description="Where a parcel is.",
    input_schema={"type": "object", "properties": {"number": {"type": "integer"}}},
    output_schema={"type": "object", "properties": {"place": {"type": "string"}}},
    domain="mcp",
)
ANSWER = json.dumps({"result": {"place": "Utrecht"}, "operations": []})


def rows() -> list[Row]:
    """All figures about parts."""
    return run(_parts())


async def _parts() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, served(0.0, ANSWER) as url:
        examples = Path(folder) / "examples.jsonl"
        write_examples(examples, _examples())
        plain = {"history": False, "structured": "off"}
        arms: Mapping[str, dict[str, Any]] = {
            "earlier turns told as well": {"history": True},
            "three fixed examples": {"examples": examples, "example_choice": "fixed"},
            "the three likest examples": {"examples": examples},
            "the schema sent along": {"structured": "auto"},
            "confidence, with log-probabilities": {"threshold": 0.01},
            "agreement of 4": {"samples": 4},
        }
        alone = await _cpu_ms(url, plain)
        return [
            Row("an imagined step with records, CPU", alone),
            *[
                Row(f"{name}: CPU more for a step", await _cpu_ms(url, {**plain, **more}) - alone)
                for name, more in arms.items()
            ],
        ]


async def _cpu_ms(url: str, settings: Mapping[str, Any]) -> float:
    """CPU time of a step with 20 turns of history, in milliseconds: the mean over steps."""
    model = WorldModel(ModelSettings(url=url, cache_entries=0, **settings))
    async with await World.create(_shop(), model=model) as world:
        world.add_tools([TRACK])
        for number in range(20):
            await world.step(ToolCall("track_0", {"number": number}))
        at = world.ref
        began = time.process_time()
        for number in range(STEPS):
            await world.step(ToolCall("track_0", {"number": 1000 + number}), at=at)
        return (time.process_time() - began) / STEPS * 1000


def _shop() -> Scenario:
    parcels = [{"id": number, "place": f"depot {number % 7}"} for number in range(50)]
    tables = {"parcels": {"records": parcels}}
    return Scenario.model_validate({"name": "parcels", "domains": ["mcp"], "tables": tables})


def _examples() -> list[Example]:
    return [
        Example(
            name=f"track_{number % TOOLS}",
            call=json.dumps({"name": f"track_{number % TOOLS}", "arguments": {"number": number}}),
            answer=json.dumps({"place": f"depot {number % 7}"}),
            operations=[],
        )
        for number in range(RECORDED)
    ]
