"""Writes `docs/reference/controls.md` from the kinds and profiles themselves.

python -m tests.controls.controls_page    write the page
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim.controls import SelectiveControl, control_kinds
from agentworld_sim.controls.adversarial_text import adversarial_packs
from agentworld_sim.controls.control_list import BUILTIN_KINDS, quadrant_of
from agentworld_sim.scenario import control_profiles, control_schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "controls.md"

_HEAD = """# Kinds of control

What can go wrong in a world, by code. This page is made from the kinds themselves; a test holds it to them. The
[guide](../guides/controls.md) says how to use them; [Write a control](../guides/write-a-control.md) how to make one.

*Explicit* means that the agent is told that something went wrong, *transient* that it passes. Times in microseconds
(`_us`) are on the world's clock.

## Which calls a control strikes

All kinds have these keys. A call is struck if it fits all that are given; by default every call is.

"""

_PROFILES = """## Profiles

A profile is several controls under one name, given in the place of a kind. A key beside its `kind` and `name` (`tool`,
`domain`, `probability`, …) holds for each of its controls.

| profile | what the agent meets | controls |
|---|---|---|
"""


def document() -> str:
    """The whole page, in Markdown."""
    shared = control_schema(SelectiveControl)
    parts = [_HEAD, _table(shared["properties"], shared)]
    before = ""
    for name in BUILTIN_KINDS:
        quadrant = quadrant_of(name)
        if quadrant != before:
            parts.append(f"\n## {quadrant.capitalize()}\n")
        before = quadrant
        kind = control_kinds.get(name)
        schema = control_schema(kind)
        own = {
            key: value
            for key, value in schema["properties"].items()
            if value != shared["properties"].get(key)
        }
        parts.append(f"\n### {name}\n\n{' '.join((kind.__doc__ or '').split())}\n")
        if issubclass(kind, SelectiveControl) and kind.only_in:
            parts.append(f"\nIn the domains {', '.join(kind.only_in)} alone.\n")
        if own:
            parts.append("\n" + _table(own, schema))
    packs = ", ".join(f"`{name}` ({len(texts)})" for name, texts in adversarial_packs().items())
    parts.append(
        f"\nPacks of `adversarial-text`, and how many texts each has: {packs}.\n\n{_PROFILES}"
    )
    for name, profile in control_profiles().items():
        kinds = ", ".join(f"`{one['kind']}`" for one in profile.controls)
        parts.append(f"| `{name}` | {profile.summary} | {kinds} |\n")
    return "".join(parts)


def _table(properties: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    rows = ["| key | default | meaning |\n|---|---|---|\n"]
    for key, field in properties.items():
        required = key in schema.get("required", ())
        default = (
            "required" if required else f"`{json.dumps(field['default'], ensure_ascii=False)}`"
        )
        meaning = " ".join(field.get("description", "").split()).replace("|", "\\|")
        rows.append(f"| `{key}` | {default} | {meaning} |\n")
    return "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
