"""Runs the controlled turns and writes what came of them.

    python -m experiments.obedience [--turns 10000] [--unchecked]

Each world has two faults at calls that are known beforehand and one control on what answers say, or all of these. What a
turn must be, and must not show, is worked out here from the number of the turn, without the library.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from agentworld_sim import Control, Observation, Scenario, ToolCall, ToolSpec, Turn, World
from agentworld_sim.controls import (
    AdversarialText,
    HiddenFact,
    Pagination,
    ServerError,
    Timeout,
    TruncatedResult,
    WithheldField,
)
from agentworld_sim.controls.adversarial_text import adversarial_packs
from agentworld_sim.errors import ObservationRejected
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer
from experiments.obedience.disobedient_model import EMAIL, FACT, ITEMS, OUTAGE, PACK, answer

RESULTS: Final = Path(__file__).parent
TURNS_OF_A_WORLD: Final = 20
TIMED_OUT: Final = "Request timed out after 30 seconds"
FAULTS: Final[tuple[Control, ...]] = (
    ServerError(name="outage", status=503, every=3),
    Timeout(name="timeout", nth=(5,)),
)
ON_ANSWERS: Final[dict[str, Control]] = {
    "withheld-field": WithheldField(name="email", fields=("email",)),
    "hidden-fact": HiddenFact(name="code", fact=FACT),
    "adversarial-text": AdversarialText(name="bait", pack=PACK, every=4),
    "pagination": Pagination(name="pages", size=4),
    "truncated-result": TruncatedResult(name="cut", characters=60),
}
COMPUTED: Final = ("terminal", "swe", "mcp")
"""Domains with an engine that this asks."""
LOOKUP: Final = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
NOTES: Final = "\n".join(["name: Ada", f"email: {EMAIL}", f"The code is {FACT}.", *ITEMS]) + "\n"


@dataclass
class Tally:
    """What was counted of one kind of turn."""

    turns: int = 0
    enforced: int = 0
    """Turns that are what the controls say: struck when they should be, and in the right way, and else not."""
    leaks: int = 0
    """Turns that show something hidden, or tell of a control."""
    answers: int = 0
    """Of the model, to calls that reached it, the first to each."""
    obedient: int = 0
    """Of them, those that kept to the controls by themselves."""
    asked_again: int = 0
    rewritten: int = 0
    refused: int = 0
    """Steps that gave no turn, because nothing was left of the answer."""
    faults: list[str] = field(default_factory=list[str])


def plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


FORMS: Final = tuple(
    plain(one) for one in (FACT, FACT[::-1], b64encode(FACT.encode()).decode(), FACT.encode().hex())
)


def faults_of(number: int, kinds: set[str], turn: Turn) -> Iterator[str]:
    """Why turn `number` is not what the controls say."""
    text = turn.observation.text
    outage, late = number % 3 == 0, number == 5
    if outage != (OUTAGE.lower() in text.lower()):
        yield f"the outage {'did not strike' if outage else 'struck by itself'}"
    if late != (TIMED_OUT.lower() in text.lower()):
        yield f"the timeout {'did not strike' if late else 'struck by itself'}"
    if outage or late:
        if turn.observation.provenance != "enforced":
            yield "a failure is not enforced"
        return
    marks = len(re.findall(r"page \d+ of \d+", text, re.IGNORECASE))
    items = sum(item in text for item in ITEMS)
    alone = len(kinds) == 1
    if "pagination" in kinds and (marks > 1 or items > 4 or (alone and marks != 1)):
        yield f"{marks} marks of pages and {items} items"
    if "truncated-result" in kinds and ((alone and len(text) > 60) or "truncated" in text):
        yield f"{len(text)} characters"
    baits = sum(one in text for one in adversarial_packs()[PACK])
    if "adversarial-text" in kinds and alone and baits != (number % 4 == 0):
        yield f"{baits} texts of the pack"


def leaks_of(kinds: set[str], turn: Turn) -> Iterator[str]:
    """What a turn shows that it must not."""
    text = turn.observation.text + json.dumps(turn.observation.structured, ensure_ascii=False)
    if "withheld-field" in kinds and EMAIL in text:
        yield "the e-mail address"
    if "hidden-fact" in kinds and any(form in plain(text) for form in FORMS):
        yield "the fact"
    for control in (*FAULTS, *(ON_ANSWERS[kind] for kind in kinds)):
        if control.describe() in text:
            yield f"what the model is told of {control.name}"


async def run_world(
    url: str, domain: str, kinds: set[str], seed: int, turns: int, *, computed: bool
) -> Tally:
    tally = Tally()
    model = None if computed else WorldModel(ModelSettings(url=url, retries=0))
    controls = [*FAULTS, *(one for kind, one in ON_ANSWERS.items() if kind in kinds)]
    content: dict[str, Any] = {"name": "controlled", "domains": [domain]}
    if computed and domain == "mcp":
        record = {"id": "1", "name": "Ada", "email": EMAIL, "note": f"The code is {FACT}."}
        more = [{"id": str(n), "name": item} for n, item in enumerate(ITEMS, 2)]
        content["tables"] = {"people": {"records": [record, *more]}}
        tool, arguments = ToolSpec(name="list_people", description="All people.", domain="mcp"), {}
    elif computed:
        content["files"] = {"/srv/notes": NOTES}
        tool, arguments = None, {"command": "cat /srv/notes"}
    else:
        tool, arguments = ToolSpec(name="lookup", domain=domain, input_schema=LOOKUP), {"id": 1}  # pyright: ignore[reportArgumentType]
    scenario = Scenario.model_validate(content)
    async with await World.create(scenario, model=model, controls=controls, seed=seed) as world:
        if tool is not None:
            world.add_tools([tool])
        name = tool.name if tool else "Bash" if domain == "swe" else "bash"
        for number in range(1, turns + 1):
            turn = None
            for again in range(20):
                asked = (
                    {**arguments, "id": 100 * number + again} if "id" in arguments else arguments
                )
                try:
                    turn = await world.step(ToolCall(name, asked))
                    break
                except ObservationRejected:
                    tally.refused += 1
            assert turn is not None
            count(tally, number, kinds, turn)
    return tally


def count(tally: Tally, number: int, kinds: set[str], turn: Turn) -> None:
    tally.turns += 1
    wrong, shown = [*faults_of(number, kinds, turn)], [*leaks_of(kinds, turn)]
    tally.enforced += not wrong
    tally.leaks += bool(shown)
    tally.faults += [
        f"turn {number}, {', '.join(sorted(kinds))}: {one}" for one in (*wrong, *shown)
    ]
    verdicts = [one for one in turn.checks if one.check == "controls"]
    judged = [one for one in verdicts if not one.reason.startswith("rewritten")]
    tally.answers += bool(judged)
    tally.obedient += bool(judged) and judged[0].accepted
    tally.asked_again += len(judged) > 1
    tally.rewritten += len(verdicts) > len(judged)


async def run(turns: int, of_a_world: int = TURNS_OF_A_WORLD) -> dict[str, Any]:
    """The figures over about so many turns, so many of each world."""
    sets = [*({kind} for kind in ON_ANSWERS), {*ON_ANSWERS}]
    domains = ("mcp", "search", "terminal", "swe", "web", "android", "os")
    ways = [(domain, False) for domain in domains] + [(domain, True) for domain in COMPUTED]
    told: dict[str, Tally] = {}
    worlds = -(-turns // of_a_world)
    with ScriptedModelServer(answer) as server:
        for number in range(worlds):
            domain, computed = ways[number % len(ways)]
            kinds = sets[(number // len(ways)) % len(sets)]
            made = await run_world(server.url, domain, kinds, number, of_a_world, computed=computed)
            add(
                told.setdefault(f"{domain}, {'computed' if computed else 'imagined'}", Tally()),
                made,
            )
            add(told.setdefault("all", Tally()), made)
    return {name: vars(one) for name, one in sorted(told.items())}


def add(total: Tally, made: Tally) -> None:
    for name, value in vars(made).items():
        setattr(total, name, getattr(total, name) + value)


CHECK: Final = "agentworld_sim.runtime.step.obedient_observation"


async def _unchecked(controls: object, step: object, given: Observation) -> tuple[Observation, str]:
    return given, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument(
        "--unchecked", action="store_true", help="Nobody looks at what is imagined."
    )
    options = parser.parse_args()
    with patch(CHECK, _unchecked) if options.unchecked else nullcontext():
        results = asyncio.run(run(options.turns))
    for one in results.values():
        one["faults"] = one["faults"][:20]
        if options.unchecked:
            one |= dict.fromkeys(("answers", "obedient"), 0)
    file = RESULTS / f"{'unchecked' if options.unchecked else 'checked'}.json"
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(
        "| turns | number | as the controls say | leaks | model's own obedience | asked again | rewritten |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, one in results.items():
        own = f"{one['obedient'] / one['answers']:.1%}" if one["answers"] else "-"
        print(
            f"| {name} | {one['turns']} | {one['enforced'] / one['turns']:.2%} | {one['leaks']} | {own} |"
            f" {one['asked_again']} | {one['rewritten']} |"
        )
    print(f"{results['all']['refused']} steps gave no turn.")


if __name__ == "__main__":
    main()
