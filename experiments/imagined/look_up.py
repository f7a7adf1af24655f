"""The look-up on every held-out call of a recording, scores alone: `python -m experiments.imagined.look_up FILE...`."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from agentworld_sim.bench.ladder import RUNGS, climb
from agentworld_sim.bench.run import examples_from, figure
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.imagination.examples import write_examples
from agentworld_sim.llm.settings import ModelSettings
from experiments.imagined.report import MEASURES, rows_for


async def main(recording: Path) -> None:
    transitions = TransitionSet.load([recording])
    with tempfile.TemporaryDirectory() as folder:
        examples = Path(folder) / "examples.jsonl"
        write_examples(examples, examples_from(transitions.transitions("train")))
        asked = [one for one in transitions.transitions() if one.side != "train"]
        # No model is asked on this rung.
        settings = ModelSettings(url="http://127.0.0.1:9/v1")
        rung = climb({0: asked}, settings, Path(folder), examples=examples, rungs=RUNGS[:1])
        async for _, _, rows in rung:
            for side in ("known", "unseen"):
                some = [row for row in rows if row.side == side]
                found = {
                    measure: str(
                        figure((row.session, holds(row)) for row in rows_for(measure, some))
                    )
                    for measure, holds in MEASURES.items()
                }
                print(json.dumps({"recording": recording.stem, "side": side, **found}), flush=True)


for name in sys.argv[1:]:
    asyncio.run(main(Path(name)))
