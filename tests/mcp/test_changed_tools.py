"""A server that changes what its tools say is told apart."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given, settings, strategies as st

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirrors import changes, field_hashes
from tests.properties import examples

if TYPE_CHECKING:
    from conftest import Everything, Shim

WARNING = (
    "have changed since they were first seen: added 'added'; removed 'place_order'; changed 'bash'"
    " (description)."
)


def listing(*pages: list[Any]) -> Listing:
    """Tools on pages."""
    cursors = [None, *(str(number) for number in range(1, len(pages)))]
    listed = {
        cursor: {"tools": tools, "nextCursor": "whatever"}
        for cursor, tools in zip(cursors, pages, strict=True)
    }
    return Listing(identity={"name": "x", "version": ""}, lists={"tools/list": listed})


def changing(shim: Shim, everything: Everything) -> list[str]:
    """A server that lists other tools once a certain file is there."""
    script = shim.marks.parent / "server.py"
    command = everything.command()
    script.write_text(
        "import os, sys\n"
        f"case = 'changed' if os.path.exists({str(shim.marks.parent / 'now')!r}) else ''\n"
        f"os.execv({command[0]!r}, {command[:-1]!r} + [case])\n"
    )
    return [sys.executable, str(script)]


def test_changed_tools_are_warned_of_until_they_are_accepted(
    shim: Shim, everything: Everything
) -> None:
    command = changing(shim, everything)
    first = shim.run("--", *command)
    assert (first.returncode, "have changed" in first.stderr) == (0, False)
    assert "have changed" not in shim.run("--", *command).stderr
    (shim.marks.parent / "now").touch()
    for _ in range(2):
        changed = shim.run("--", *command)
        assert changed.returncode == 0
        assert WARNING in changed.stderr
    accepted = everything.snapshot("-o", str(shim.marks.parent / "x.json"), "--", *command)
    assert accepted.returncode == 0
    assert "have changed" not in shim.run("--", *command).stderr


def test_a_pinned_server_that_changed_is_not_started(shim: Shim, everything: Everything) -> None:
    command = changing(shim, everything)
    assert shim.run("--pinned", "--", *command).returncode == 0
    (shim.marks.parent / "now").touch()
    for _ in range(2):
        refused = shim.run("--pinned", "--", *command)
        assert (refused.stdout, refused.returncode) == ("", 2)
        assert WARNING in refused.stderr


def test_a_snapshot_is_held_against_the_live_server_and_shown(
    shim: Shim, everything: Everything
) -> None:
    command, file = changing(shim, everything), str(shim.marks.parent / "x.json")
    assert everything.snapshot("-o", file, "--", *command).returncode == 0
    assert "are not those" not in shim.run("--snapshot", file, "--", *command).stderr
    (shim.marks.parent / "now").touch()
    told = shim.run("--snapshot", file, "--", *command)
    assert told.returncode == 0
    assert "added 'added'; removed 'place_order'; changed 'bash' (description)" in told.stderr
    with everything.shown("legacy", "--snapshot", file, "--", *command) as wire:
        wire.greet()
        assert wire.ask("tools/list")["result"]["tools"][0]["name"] == "place_order"
    refused = shim.run("--pinned", "--snapshot", file, "--", *command)
    assert (refused.stdout, refused.returncode) == ("", 2)
    assert "Clients are shown the snapshot" not in refused.stdout


def test_a_server_that_cannot_be_compared_is_warned_of_or_refused_when_pinned(
    shim: Shim, everything: Everything
) -> None:
    file = str(shim.marks.parent / "x.json")
    assert everything.snapshot("-o", file, "--", *everything.command()).returncode == 0
    broken = [sys.executable, "-c", "import sys; sys.exit(3)"]
    told = shim.run("--snapshot", file, "--", *broken)
    assert told.returncode == 0
    assert "cannot be compared" in told.stderr
    assert shim.run("--pinned", "--snapshot", file, "--", *broken).returncode == 2


def test_a_world_in_memory_remembers_no_tools(shim: Shim, everything: Everything) -> None:
    assert shim.run("--memory", "--", *everything.command()).returncode == 0
    assert not shim.home.exists()


def test_nothing_secret_is_remembered(shim: Shim, everything: Everything) -> None:
    shim.run("--", *everything.command("legacy", "s3cret-token"))
    (file,) = (shim.home / "tool-listings").iterdir()
    text = file.read_text()
    assert "s3cret" not in text
    assert "Orders" not in text


def test_a_damaged_memory_is_told_of_and_not_trusted(shim: Shim, everything: Everything) -> None:
    shim.run("--", *everything.command())
    (file,) = (shim.home / "tool-listings").iterdir()
    file.write_text("[1,")
    done = shim.run("--", *everything.command())
    assert done.returncode == 0
    assert "so no tool listing is trusted" in done.stderr


def named(parts: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A tool of that name, with whatever else it has."""
    return {"name": parts[0], **parts[1]}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
TOOLS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.tuples(st.text(), st.dictionaries(st.text(), JSON)).map(named),
    unique_by=lambda tool: str(tool["name"]),
)


def reordered(value: Any) -> Any:
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: reordered(fields[key]) for key in reversed(fields)}
    if isinstance(value, list):
        return [reordered(one) for one in cast("list[Any]", value)]
    return value


@settings(max_examples=examples(100))
@given(tools=TOOLS, cut=st.integers(0, 5))
def test_the_order_of_tools_and_keys_and_the_pages_do_not_matter(
    tools: list[dict[str, Any]], cut: int
) -> None:
    other = [reordered(tool) for tool in reversed(tools)]
    assert field_hashes(listing(tools)) == field_hashes(listing(other[:cut], other[cut:]))


@settings(max_examples=examples(100))
@given(tools=TOOLS, text=st.text())
def test_any_change_of_a_tool_is_seen(tools: list[dict[str, Any]], text: str) -> None:
    if not tools:
        return
    changed = [{**tools[0], "description": [text]}, *tools[1:]]
    before, after = field_hashes(listing(tools)), field_hashes(listing(changed))
    assert (changes(before, after) is None) == (tools[0].get("description") == [text])
