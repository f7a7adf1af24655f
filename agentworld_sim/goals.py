"""Goal checks: does a world's state meet what its scenario asks for?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.plain_text import shorten
from agentworld_sim.ports.stores import NewBlobs
from agentworld_sim.runtime.world_history import off_loop, turn_before_judging
from agentworld_sim.types.files import is_below, without_links
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World
from agentworld_sim.world_records import Records, records_of

if TYPE_CHECKING:
    from agentworld_sim.scenario import (
        AnswerGoal,
        CommandGoal,
        FileGoal,
        Goal,
        NothingElseGoal,
        PageGoal,
        RecordGoal,
        RequestGoal,
        UnchangedFilesGoal,
        UnchangedRecordsGoal,
        ValueGoal,
    )

__all__ = ["GoalResult", "check_goals"]

_RUN = ToolSpec(name="goal-command", binds_to="shell/run")


@dataclass(frozen=True, slots=True)
class GoalResult:
    """What became of one goal."""

    goal: str
    """The goal in one line."""
    met: bool
    reason: str = ""
    """Why not; empty when met."""


async def check_goals(world: World, *, at: WorldRef | None = None) -> list[GoalResult]:
    """Checks every goal of the world's scenario at a point of its history; here by default.

    Commands run in a fork that is thrown away, each in a fresh shell: checking changes nothing, and files that
    only a goal has are never in the world itself.
    """
    return [await _check(world, goal, at or world.ref) for goal in world.scenario.goals]


async def _check(world: World, goal: Goal, at: WorldRef) -> GoalResult:
    from agentworld_sim.scenario import (
        AnswerGoal,
        CommandGoal,
        FileGoal,
        NothingElseGoal,
        PageGoal,
        RecordGoal,
        RequestGoal,
        UnchangedFilesGoal,
        ValueGoal,
    )

    if isinstance(goal, CommandGoal):
        title, reason = f"$ {goal.command}", await _command_problem(world, goal, at)
    elif isinstance(goal, FileGoal):
        condition = {name: value for name, value in goal if name != "file" and value is not None}
        title = f"{goal.file}: {' '.join(f'{name} {value!r}' for name, value in condition.items())}"
        reason = await _file_problem(world, goal, at)
    elif isinstance(goal, RecordGoal):
        condition = {name: value for name, value in goal if name != "record" and value is not None}
        told = " ".join(f"{name} {canonical_json(value)}" for name, value in condition.items())
        title = f"{goal.record}: {told}"
        reason = await _record_problem(world, goal, at)
    elif isinstance(goal, RequestGoal):
        told = " ".join(f"{name}={value!r}" for name, value in goal.fields.items())
        title = f"{goal.method} {goal.request} {told}".rstrip()
        reason = await _request_problem(world, goal, at)
    elif isinstance(goal, PageGoal):
        title = f"the page {goal.page}" + (f" contains {goal.contains!r}" if goal.contains else "")
        reason = await _page_problem(world, goal, at)
    elif isinstance(goal, NothingElseGoal):
        title = "nothing else changed" + (
            f" besides {', '.join(goal.besides)}" if goal.besides else ""
        )
        reason = await _else_changed(world, goal, at)
    elif isinstance(goal, AnswerGoal):
        title = f"answer: {len(goal.rows)} rows of {', '.join(goal.answer)}"
        reason = await _answer_problem(world, goal, at)
    elif isinstance(goal, ValueGoal):
        title = f"answer: {goal.answer}"
        reason = _value_problem(goal, await _answer(world, at))
    else:
        title = f"{goal.unchanged}: unchanged"
        if isinstance(goal, UnchangedFilesGoal):
            title += f" besides {', '.join(goal.besides)}" if goal.besides else ""
            reason = await _files_changed(world, goal, at)
        else:
            title += f" besides {canonical_json(goal.besides)}" if goal.besides else ""
            reason = await _records_changed(world, goal, at)
    return GoalResult(title, not reason, reason)


async def _record_problem(world: World, goal: RecordGoal, at: WorldRef) -> str:
    start = await _records(world, goal.record, world.root)
    if start is None and await _records(world, goal.record, at) is None:
        return await _no_table(world, goal.record, at)
    diff = await world.diff(world.root, at=at)
    changes = {one.key: one for one in diff.records if one.table == goal.record}
    if goal.added is not None:
        found = [one for one in changes.values() if one.kind == "added"]
        fitting = [one for one in found if _has(one.after, goal.added)]
        if len(fitting) == 1:
            return ""
        return f"{len(fitting)} such records were added{_list(found)}"
    wanted = goal.deleted if goal.deleted is not None else goal.where
    named = {key: one for key, one in (start or {}).items() if _has(one, wanted)}
    if not named:
        return f"no record had {canonical_json(wanted)} at the start"
    if goal.deleted is not None:
        left = [key for key in named if key not in changes or changes[key].after is not None]
        return f"still there: {_some(left)}" if left else ""
    if not any(key in changes for key in named):
        return f"nothing was changed in {_some(named)}"
    for key, record in named.items():
        now = changes[key].after if key in changes else record
        if now is None:
            return f"{key} was deleted"
        if not _has(now, goal.changed):
            return f"it says {_short(canonical_json(now))}"
    return ""


async def _answer_problem(world: World, goal: AnswerGoal, at: WorldRef) -> str:
    from agentworld_sim.fiction.answer_scores import score_answer

    text = await _answer(world, at)
    if text is None:
        return "no answer was handed in"
    score = score_answer(goal.gold(), text)
    if score.success or score.item_f1 >= goal.at_least:
        return ""
    return score.note or f"its items have an F1 of {score.item_f1:.3f}, its rows {score.row_f1:.3f}"


async def _answer(world: World, at: WorldRef) -> str | None:
    from agentworld_sim.engines.toolkits.answer import ANSWER

    return (await world.state(at)).values.get(ANSWER)


def _value_problem(goal: ValueGoal, text: str | None) -> str:
    if text is None:
        return "no answer was handed in"
    if isinstance(goal.answer, str):
        said, right = (" ".join(one.split()).rstrip(".").lower() for one in (text, goal.answer))
        met = said == right
    else:
        numbers = re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))
        met = len(numbers) == 1 and float(numbers[0]) == goal.answer
    return "" if met else f"the answer was {_short(text)}"


async def _records_changed(world: World, goal: UnchangedRecordsGoal, at: WorldRef) -> str:
    table, besides = goal.unchanged, goal.besides
    if (
        await _records(world, table, at) is None
        and await _records(world, table, world.root) is None
    ):
        return await _no_table(world, table, at)
    return _list(
        [
            one
            for one in (await world.diff(world.root, at=at)).records
            if one.table == table
            and not (besides and (_has(one.before, besides) or _has(one.after, besides)))
        ]
    ).removeprefix(": ")


async def _request_problem(world: World, goal: RequestGoal, at: WorldRef) -> str:
    from agentworld_sim.sites.site_application import noted_requests
    from agentworld_sim.sites.site_routes import SitePath

    noted = noted_requests((await world.state(at)).values, goal.site)
    path = SitePath(goal.request)
    there = [one for one in noted if path.match(urlsplit(str(one["url"])).path) is not None]
    if not there:
        return "no form was accepted there"
    for one in there:
        sent = {(name, text) for name, text in one["fields"]}
        if sent >= set(goal.fields.items()) and goal.status in (None, one["status"]):
            return ""
    return f"it was sent {_short(canonical_json(dict(there[-1]['fields'])))} and answered {there[-1]['status']}"


async def _page_problem(world: World, goal: PageGoal, at: WorldRef) -> str:
    from agentworld_sim.engines.web.browser_state import BrowserState
    from agentworld_sim.engines.web.document import parse_document

    browser = BrowserState((await world.state(at)).values)
    page = browser.page(browser.tab)
    parts = urlsplit(page.url)
    if goal.page not in (page.url, urlunsplit(("", "", parts.path, parts.query, ""))):
        return f"the browser shows {page.url}"
    if goal.contains is None:
        return ""
    body = parse_document(page.html).root.descendants("body")
    text = " ".join(" ".join(one.text_content() for one in body).split())
    return "" if goal.contains in text else f"it says {_short(text)}"


async def _else_changed(world: World, goal: NothingElseGoal, at: WorldRef) -> str:
    """The changes of records that no goal of the scenario asks for."""
    from agentworld_sim.scenario import RecordGoal

    wanted = [one for one in world.scenario.goals if isinstance(one, RecordGoal)]
    left = [one for one in wanted if one.added is not None]
    found: list[object] = []
    for change in (await world.diff(world.root, at=at)).records:
        before, after = change.before, change.after
        own = [one for one in wanted if one.record == change.table]
        if change.table in goal.besides:
            continue
        if before is None:
            fitting = next((one for one in left if one in own and _has(after, one.added)), None)
            if fitting is not None:
                left.remove(fitting)
                continue
        elif after is None:
            if any(one.deleted is not None and _has(before, one.deleted) for one in own):
                continue
        else:
            free = {
                name
                for one in own
                if one.changed and _has(before, one.where)
                for name in one.changed
            }
            names = {name for name in {**before, **after} if before.get(name) != after.get(name)}
            if all(name in free or f"{change.table}.{name}" in goal.besides for name in names):
                continue
        found.append(change)
    return _list(found).removeprefix(": ")


async def _files_changed(world: World, goal: UnchangedFilesGoal, at: WorldRef) -> str:
    return _list(
        [
            one
            for one in (await world.diff(world.root, at=at)).files
            if is_below(one.path, goal.unchanged)
            and not any(is_below(one.path, path) for path in goal.besides)
        ]
    ).removeprefix(": ")


def _has(record: Mapping[str, Any] | None, fields: Mapping[str, Any] | None) -> bool:
    """Whether a record has these values; `true` is not 1, 1 is 1.0, and a field that is not there is null."""
    return record is not None and all(
        record.get(name) == value and isinstance(record.get(name), bool) == isinstance(value, bool)
        for name, value in (fields or {}).items()
    )


async def _records(world: World, table: str, at: WorldRef) -> Records | None:
    held = records_of(await world.state(at), scenario=world.scenario, tools=world.tools.values())
    return held.get(table)


async def _no_table(world: World, table: str, at: WorldRef) -> str:
    known = records_of(await world.state(at), scenario=world.scenario, tools=world.tools.values())
    listed = ", ".join(known) or "none"
    return f"there is no table {table!r}.{nearest(table, known)} Tables: {listed}."


def _some(keys: Iterable[str], most: int = 5) -> str:
    known = list(keys)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def _list(changes: Sequence[object], most: int = 3) -> str:
    if not changes:
        return ""
    more = f" and {len(changes) - most} more" if len(changes) > most else ""
    return ": " + "; ".join(map(str, changes[:most])) + more


async def _file_problem(world: World, goal: FileGoal, at: WorldRef) -> str:
    data = await content_at(world, goal.file, at)
    if goal.exists is not None:
        if (data is not None) == goal.exists:
            return ""
        return "it is there" if data is not None else "it is not there"
    if data is None:
        return "it is not there"
    if goal.unchanged:
        return "" if data == await content_at(world, goal.file, world.root) else "it was changed"
    text = data.decode("utf-8", "replace")
    if goal.equals is not None:
        return "" if text == goal.equals else f"it says {_short(text)}"
    if goal.contains is not None:
        return "" if goal.contains in text else f"it says {_short(text)}"
    found = re.search(goal.matches or "", text, re.MULTILINE)
    return "" if found else f"it says {_short(text)}"


async def content_at(world: World, path: str, at: WorldRef) -> bytes | None:
    """The bytes at an absolute path, links followed; empty for a directory, `None` for nothing."""
    files = (await world.state(at)).files
    real = without_links(files, path)
    entry = files.get(real) if real else None
    if real is None or entry is None:
        return None
    if entry.kind == "directory":
        return b""
    try:
        return await world.read_file(real, at=at)
    except UsageError:
        return b""


async def _command_problem(world: World, goal: CommandGoal, at: WorldRef) -> str:
    # Controls strike what an agent does, not what it is judged by.
    fork = await world.fork(at=at, controls=())
    try:
        state, blobs = await fork.state(), NewBlobs(world.store.blobs)
        hidden = world.scenario.tree_over(state.files, goal.files, blobs) if goal.files else None
        if turn := turn_before_judging(fork.ref, state, hidden):
            await fork._commit(turn, state.after(turn.change), blobs)  # pyright: ignore[reportPrivateUsage]  it answers no call
        fork.add_tools([_RUN])
        turn = await fork.step(ToolCall(_RUN.name, {"command": goal.command}))
    finally:
        await fork.close()
        await off_loop(world.store, lambda: world.store.remove(fork.id))
    result = cast("dict[str, Any]", turn.observation.structured)
    if result["exit_code"] != goal.exit_code:
        said = _short(result["stderr"] or result["stdout"])
        return f"it exited with {result['exit_code']}, not {goal.exit_code}: {said}"
    stdout: str = result["stdout"]
    if goal.stdout_equals is not None and stdout != goal.stdout_equals:
        return f"it printed {_short(stdout)}"
    if goal.stdout_contains is not None and goal.stdout_contains not in stdout:
        return f"it printed {_short(stdout)}"
    return ""


def _short(text: str, width: int = 200) -> str:
    return repr(shorten(text, width))
