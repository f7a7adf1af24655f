"""Branches of a world's history meet: a three-way merge by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import (
    Action,
    FileEntry,
    FileTree,
    Observation,
    StateChange,
    ToolCall,
    Turn,
    WorldState,
)
from agentworld_sim.runtime.merge import merge_states, with_first_records
from agentworld_sim.types.turns import Conflict

TIP = "f" * 40
"""Of the later branch."""


def state(
    files: Mapping[str, FileEntry] | None = None,
    values: Mapping[str, Any] | None = None,
    sessions: Mapping[str, str] | None = None,
    clock_us: int = 0,
    seed: int = 1,
) -> WorldState:
    return WorldState(
        files=FileTree.from_entries((files or {}).items()),
        clock_us=clock_us,
        seed=seed,
        values=values or {},
        sessions=sessions or {},
    )


def file(text: str, **fields: Any) -> FileEntry:
    return FileEntry("file", content=text, size=len(text), **fields)


def merged(base: Any, ours: Any, theirs: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The values after a merge, and what was lost."""
    after, conflicts = merge_states(
        state(values=base), state(values=ours), state(values=theirs), kept=TIP
    )
    assert all(conflict.kept == TIP for conflict in conflicts)
    return dict(after.values), [(one.key, one.moved) for one in conflicts]


# The rules


FOLDER = FileEntry("directory", 0o755)


@st.composite
def states(draw: st.DrawFn, clock_us: int = 0) -> WorldState:
    folders = draw(st.sets(st.sampled_from(["/a", "/a/b", "/c"])))
    files = {
        folder: FileEntry("directory", draw(st.sampled_from([0o700, 0o755])), 5)
        for folder in folders
    }
    for name in draw(st.sets(st.sampled_from(["/f", "/a/f", "/a/b/f", "/c/f", "/a", "/c"]))):
        if not any(path.startswith(f"{name}/") for path in files) and name not in folders:
            files[name] = file(
                draw(st.sampled_from("xyz")), mode=draw(st.sampled_from([0o644, 0o600]))
            )
    files = {
        path: entry
        for path, entry in files.items()
        if all(
            files.get(above, FOLDER).kind == "directory"
            for above in ("/a", "/a/b", "/c")
            if path.startswith(f"{above}/")
        )
    }
    records = st.fixed_dictionaries({"id": st.integers(1, 4), "name": st.sampled_from("xyz")})
    values: dict[str, Any] = {}
    for number, record in enumerate(
        draw(st.lists(records, max_size=4, unique_by=lambda r: r["id"])), 1
    ):
        values[f"tables/t/{record['id']}"] = {"n": number, "record": record}
    plain = st.one_of(
        st.integers(0, 3), st.lists(st.sampled_from("xyz"), max_size=3), st.text("xy", max_size=1)
    )
    values |= draw(st.dictionaries(st.sampled_from(["count", "list", "text"]), plain))
    sessions = draw(st.dictionaries(st.sampled_from(["one", "two"]), st.sampled_from(["s", "t"])))
    return state(files, values, sessions, draw(st.integers(clock_us, 9)), draw(st.integers(1, 2)))


@given(base=states(), branch=states(clock_us=9))
def test_a_merge_with_an_unchanged_branch_is_the_other_branch(
    base: WorldState, branch: WorldState
) -> None:
    assert merge_states(base, base, branch, kept=TIP) == (branch, ())
    assert merge_states(base, branch, base, kept=TIP) == (branch, ())
    assert merge_states(base, branch, branch, kept=TIP)[0].files == branch.files


@given(base=states(), ours=states(clock_us=9), theirs=states(clock_us=9))
def test_whatever_is_merged_every_file_lies_in_a_folder_and_no_two_records_share_a_number(
    base: WorldState, ours: WorldState, theirs: WorldState
) -> None:
    after, conflicts = merge_states(base, ours, theirs, kept=TIP)
    assert FileTree.from_entries(after.files.items()) == after.files
    numbers = [value["n"] for key, value in after.values.items() if key.startswith("tables/")]
    kept = [value["n"] for key, value in ours.values.items() if key.startswith("tables/")]
    if not base.values.keys() & {*ours.values, *theirs.values}:
        assert len(set(numbers)) == len(numbers) >= len(kept)
    assert (after, conflicts) == merge_states(base, ours, theirs, kept=TIP)


_PARTS = st.tuples(states(clock_us=9), states(clock_us=9))


def _moved_to(prefix: str, one: WorldState) -> WorldState:
    """The same under names that the other branch has not."""
    return replace(
        one,
        files=FileTree.from_entries(
            (path if path == "/" else f"/{prefix}{path}", entry)
            for path, entry in one.files.items()
        ),
        values={
            key.replace("tables/", f"tables/{prefix}")
            .replace("count", prefix)
            .replace("list", f"{prefix}l")
            .replace("text", f"{prefix}t"): value
            for key, value in one.values.items()
        },
        sessions={f"{prefix}{name}": value for name, value in one.sessions.items()},
        seed=1,
    )


@given(parts=_PARTS)
def test_disjoint_changes_come_together_in_either_order(
    parts: tuple[WorldState, WorldState],
) -> None:
    base = state()
    one, other = (_moved_to(name, part) for name, part in zip("pq", parts, strict=True))
    there, lost = merge_states(base, one, other, kept=TIP)
    back, lost_too = merge_states(base, other, one, kept=TIP)
    assert there == back and lost == lost_too == ()
    assert {*one.files, *other.files} == {*there.files}
    assert {**one.values, **other.values} == dict(there.values)


# Files


def test_files_are_merged_by_path_and_the_parts_of_an_entry_one_by_one() -> None:
    base = state({"/f": file("old", mode=0o644, mtime_us=1)})
    ours = state({"/f": file("new", mode=0o644, mtime_us=2)}, clock_us=5)
    theirs = state({"/f": file("old", mode=0o600, mtime_us=3), "/g": file("g")}, clock_us=4)
    after, conflicts = merge_states(base, ours, theirs, kept=TIP)
    assert after.files["/f"] == file("new", mode=0o600, mtime_us=3)
    assert after.files["/g"] == file("g") and after.clock_us == 5 and conflicts == ()


def test_a_file_that_both_wrote_is_the_later_branchs_and_is_named() -> None:
    base, ours, theirs = (state({"/f": file(text)}) for text in ("old", "mine", "theirs"))
    after, conflicts = merge_states(base, ours, theirs, kept=TIP)
    assert after.files["/f"] == file("theirs")
    assert conflicts == (Conflict(kind="file", key="/f", kept=TIP),)


@pytest.mark.parametrize("removed", ["ours", "theirs"])
def test_a_folder_that_one_removed_and_the_other_filled_stays(removed: str) -> None:
    base = state({"/d/old": file("old")})
    gone, filled = state(), state({"/d/old": file("old"), "/d/new": file("new")})
    branches = (gone, filled) if removed == "ours" else (filled, gone)
    after, conflicts = merge_states(base, *branches, kept=TIP)
    assert set(after.files) == {"/", "/d", "/d/new"}
    assert [one.key for one in conflicts] == ["/d"]


def test_what_lies_where_the_later_branch_has_a_file_is_lost_and_named() -> None:
    base, ours = state(), state({"/d/one": file("1"), "/d/two": file("2")})
    after, conflicts = merge_states(base, ours, state({"/d": file("d")}), kept=TIP)
    assert set(after.files) == {"/", "/d"} and after.files["/d"] == file("d")
    assert [one.key for one in conflicts] == ["/d", "/d/one", "/d/two"]


# Sessions, seed


def test_a_folder_that_the_later_branch_filled_stays_where_the_other_made_a_file_of_it() -> None:
    base = state({"/d": FOLDER, "/d/f": file("f")})
    ours, theirs = state({"/d": file("x")}), state({**base.files, "/d/g": file("g")})
    after, conflicts = merge_states(base, ours, theirs, kept=TIP)
    assert {path: after.files[path] for path in after.files if path != "/"} == {
        "/d": FOLDER,
        "/d/g": file("g"),
    }
    assert [one.key for one in conflicts] == ["/d"]


def test_a_shell_session_is_the_later_branchs() -> None:
    base, ours = state(sessions={"s": "0", "t": "0"}), state(sessions={"s": "1", "t": "1"})
    theirs = state(sessions={"s": "2", "t": "0", "u": "3"})
    after, conflicts = merge_states(base, ours, theirs, kept=TIP)
    assert after.sessions == {"s": "2", "t": "1", "u": "3"} and conflicts == ()


def test_a_seed_that_both_changed_is_the_later_branchs_and_is_named() -> None:
    after, conflicts = merge_states(state(seed=1), state(seed=2), state(seed=3), kept=TIP)
    assert after.seed == 3 and [one.kind for one in conflicts] == ["seed"]
    assert merge_states(state(seed=1), state(seed=2), state(seed=1), kept=TIP)[0].seed == 2


# Values


def test_counters_add() -> None:
    assert merged({"control/f": 2}, {"control/f": 3}, {"control/f": 4}) == ({"control/f": 5}, [])
    assert merged({}, {"replay/x": 1}, {"replay/x": 2}) == ({"replay/x": 3}, [])


def test_counters_add_where_both_counted_the_same_too() -> None:
    assert merged({"n": 1}, {"n": 2}, {"n": 2}) == ({"n": 3}, [])
    assert merged({}, {"n": 1}, {"n": 1}) == ({"n": 2}, [])


def test_a_limit_is_no_counter() -> None:
    assert merged({}, {"condition/free_bytes": 9}, {"condition/free_bytes": 9}) == (
        {"condition/free_bytes": 9},
        [],
    )
    assert merged({}, {"condition/free_bytes": 9}, {"condition/free_bytes": 7}) == (
        {"condition/free_bytes": 7},
        [("condition/free_bytes", "")],
    )


def test_lists_that_both_made_longer_follow_each_other() -> None:
    assert merged({"l": [1]}, {"l": [1, 2]}, {"l": [1, 3, 4]}) == ({"l": [1, 2, 3, 4]}, [])
    assert merged({"l": [1]}, {"l": [2]}, {"l": [1, 3]}) == ({"l": [1, 3]}, [("l", "")])


def test_objects_are_merged_by_key() -> None:
    base = {"o": {"a": 1, "b": 1, "c": 1, "d": {"e": 1}}}
    ours = {"o": {"a": 2, "b": 1, "c": 2, "d": {"e": 1, "f": 2}}}
    theirs = {"o": {"a": 1, "c": 3, "d": {"e": 2}}}
    assert merged(base, ours, theirs) == (
        {"o": {"a": 2, "c": 3, "d": {"e": 2, "f": 2}}},
        [("o", "")],
    )


def test_a_value_that_one_removed_and_the_other_changed_is_the_later_branchs() -> None:
    assert merged({"t": "a"}, {}, {"t": "b"}) == ({"t": "b"}, [("t", "")])
    assert merged({"t": "a"}, {"t": "b"}, {}) == ({}, [("t", "")])


def test_a_tab_of_a_browser_is_one_whole() -> None:
    def tab(*urls: str) -> dict[str, Any]:
        visits = {f"browser/visit/{number}": {"url": url} for number, url in enumerate(urls)}
        return {"browser/at": len(urls) - 1, "browser/length": len(urls), **visits}

    ours, theirs = tab("a", "b", "c"), {**tab("a", "d"), "browser/page/e": {"status": 200}}
    assert merged(tab("a"), ours, theirs) == (theirs, [("browser/", "")])
    assert merged(tab("a"), ours, tab("a")) == (ours, [])


def test_numbered_things_of_both_are_all_kept() -> None:
    base = {"memory/entity/000000000001": {"name": "a"}}
    ours = {**base, "memory/entity/000000000002": {"name": "b"}}
    theirs = {**base, "memory/entity/000000000002": {"name": "c"}}
    assert merged(base, ours, theirs) == (
        {**ours, "memory/entity/000000000003": {"name": "c"}},
        [],
    )


# Records


def records(*named: tuple[Any, str], start: int = 1) -> dict[str, Any]:
    values: dict[str, Any] = {"tables/t": {"begun": True}}
    for number, (key, name) in enumerate(named, start):
        shown = f'"{key}"' if isinstance(key, str) else key
        values[f"tables/t/{shown}"] = {"n": number, "record": {"id": key, "name": name}}
    return values


def test_new_records_of_both_are_all_kept_under_keys_and_numbers_of_their_own() -> None:
    base = records((1, "a"))
    after, conflicts = merged(
        base, records((1, "a"), (2, "b")), records((1, "a"), (2, "c"), (3, "d"))
    )
    assert after == records((1, "a"), (2, "b"), (4, "c"), (3, "d")) | {
        "tables/t/4": {"n": 4, "record": {"id": 4, "name": "c"}},
        "tables/t/3": {"n": 3, "record": {"id": 3, "name": "d"}},
    }
    assert conflicts == [("tables/t/2", "tables/t/4")]


@pytest.mark.parametrize(
    ("taken", "fresh"),
    [("ORD-0007", "ORD-0008"), ("3fa85f64-5717-4562-b3fc-2c963f66afa6", None), ("9f3a12bc", None)],
)
def test_a_key_that_was_made_up_gives_way_to_another_of_its_look(
    taken: str, fresh: str | None
) -> None:
    after, conflicts = merged({}, records((taken, "a")), records((taken, "b")))
    names = {
        value["record"]["id"]: value["record"]["name"]
        for key, value in after.items()
        if key != "tables/t"
    }
    (other,) = names.keys() - {taken}
    assert names == {taken: "a", other: "b"} and len(other) == len(taken)
    assert fresh in (None, other) and conflicts[0][1] == f'tables/t/"{other}"'


def test_a_name_that_both_gave_to_a_new_record_is_one_record() -> None:
    after, conflicts = merged({}, records(("bob", "a")), records(("bob", "b")))
    assert after == records(("bob", "b")) and conflicts == [('tables/t/"bob"', "")]


def test_records_without_a_key_get_another_number() -> None:
    def row(number: int, name: str) -> dict[str, Any]:
        return {f"tables/t/#{number}": {"n": number, "record": {"name": name}}}

    assert merged(row(1, "a"), row(1, "a") | row(2, "b"), row(1, "a") | row(2, "c")) == (
        row(1, "a") | row(2, "b") | row(3, "c"),
        [],
    )


def test_the_fields_of_a_record_are_merged_one_by_one() -> None:
    base, ours, theirs = records((1, "a")), records((1, "b")), records((1, "a"))
    theirs["tables/t/1"]["record"]["done"] = True
    after, conflicts = merged(base, ours, theirs)
    assert after["tables/t/1"]["record"] == {"id": 1, "name": "b", "done": True}
    assert conflicts == []
    assert merged(base, records((1, "b")), records((1, "c")))[1] == [("tables/t/1", "")]


def test_the_records_that_a_table_begins_with_are_the_same_in_both_branches() -> None:
    def first(day: int, *more: tuple[int, str], changed: str = "") -> dict[str, Any]:
        values = records((1, "a"), (2, "b"), *more)
        for number in (1, 2):
            values[f"tables/t/{number}"]["record"]["made"] = f"2026-01-0{day}"
        if changed:
            values["tables/t/1"]["record"]["name"] = changed
        return values

    def turn(values: Mapping[str, Any]) -> Turn:
        return Turn(
            parent="0",
            call=ToolCall("t"),
            action=Action(""),
            observation=Observation(text=""),
            change=StateChange(clock_us=0, values=values),
        )

    # Each began the table with the record that it made.
    ours, theirs = first(1, (3, "mine")), first(2, (3, "theirs"), changed="new")
    base = with_first_records(state(), [turn(ours)], [turn(theirs)])
    after, conflicts = merge_states(base, state(values=ours), state(values=theirs), kept=TIP)
    names = [value["record"]["name"] for key, value in after.values.items() if key != "tables/t"]
    assert sorted(names) == ["a", "b", "mine", "theirs"]
    assert [one.moved for one in conflicts] == ["tables/t/4"]
