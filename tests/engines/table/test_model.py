"""Random calls beside a model in plain Python: a dictionary of lists."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import MemoryStore, ToolCall, World
from agentworld_sim.types.turns import Observation
from tests.properties import examples

from .desk import TOOLS, PlannedEngine, opened, planned

TEAMS = ("red", "blue")
STARTED = {"tickets": ({"team": "red", "title": "begun", "state": "closed", "points": 7},)}
PLAN = planned(records=STARTED)


@dataclass
class Model:
    """What the desk does, in lists."""

    tickets: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    last: dict[str, int] = field(default_factory=dict[str, int])
    cursors: dict[str, int] = field(default_factory=dict[str, int])

    def copy(self) -> Model:
        return Model([dict(one) for one in self.tickets], dict(self.last), self.cursors)

    def find(self, team: str, number: int) -> dict[str, Any] | None:
        for one in self.tickets:
            if (one["team"], one["id"]) == (team, number):
                return one
        return None

    def answer(self, name: str, given: dict[str, Any]) -> Any:
        """The text of an error, or what the answer must show."""
        return getattr(self, name)(**given)

    def create_ticket(self, team: str, title: str, **given: Any) -> Any:
        number = self.last.get(team, 0) + 1
        self.last[team] = number
        made = {"points": 1, **given, "id": number, "team": team, "title": title, "state": "open"}
        self.tickets.append(made)
        return made

    def get_ticket(self, team: str, id: int) -> Any:
        return self.find(team, id) or f"Ticket {id} not found"

    def update_ticket(self, team: str, id: int, **given: Any) -> Any:
        found = self.find(team, id)
        if found is None:
            return f"Ticket {id} not found"
        found.update(given)
        return found

    def close_ticket(self, team: str, id: int) -> Any:
        found = self.find(team, id)
        if found is None:
            return f"Ticket {id} not found"
        if found["state"] != "open":
            return f"Ticket {id} is closed"
        found["state"] = "closed"
        return found

    def score_ticket(self, team: str, id: int, by: int) -> Any:
        found = self.find(team, id)
        if found is None:
            return f"Ticket {id} not found"
        if found["points"] + by < 0:
            return f"Ticket {id} has only {found['points']} points"
        found["points"] += by
        return found

    def delete_tickets(self, team: str, ids: list[int]) -> Any:
        for number in ids:
            if self.find(team, number) is None:
                return f"Ticket {number} not found"
        self.tickets = [one for one in self.tickets if one["team"] != team or one["id"] not in ids]
        return {"success": True}

    def count_tickets(self, team: str | None = None, state: str | None = None) -> Any:
        found = [
            one
            for one in self.tickets
            if team in (None, one["team"]) and state in (None, one["state"])
        ]
        return {"count": len(found)}

    def search_tickets(self, query: str, offset: int = 0, limit: int | None = None) -> Any:
        words = query.casefold().split()
        found: list[dict[str, Any]] = []
        for one in self.tickets:
            parts = [str(value) for value in one.values() if not isinstance(value, list)]
            parts += one.get("tags", [])
            text = "\n".join(parts).casefold()
            if all(word in text for word in words):
                found.append(one)
        return found[offset:][:limit]

    def list_tickets(
        self,
        team: str,
        state: str = "all",
        tag: str | None = None,
        min_points: int | None = None,
        sort: str | None = None,
        direction: str | None = None,
        limit: int = 3,
        cursor: str | None = None,
    ) -> Any:
        found = [
            one
            for one in self.tickets
            if one["team"] == team
            and state in ("all", one["state"])
            and (tag is None or tag in one.get("tags", []))
            and (min_points is None or one["points"] >= min_points)
        ]
        if sort is not None:
            found.sort(key=lambda one: one[sort], reverse=direction == "desc")
        offset = 0 if cursor is None else self.cursors[cursor]
        page = found[offset : offset + limit]
        return {
            "items": page,
            "total": len(found),
            "has_more": offset + len(page) < len(found),
            "next": offset + limit,
        }


WORDS = st.sampled_from(
    ["alpha", "Beta beta", "naïve ✓", "Ω'; DROP TABLE t0; --", "100%", "_", "x\x00y"]
)
TAGS = st.lists(st.sampled_from(["ui", "db", 'q"t']), max_size=2, unique=True)
TEAM = st.sampled_from(TEAMS)
NUMBER = st.integers(1, 6)
POINTS = st.integers(-3, 9)

CALLS = st.one_of(
    st.tuples(
        st.just("create_ticket"),
        st.fixed_dictionaries(
            {"team": TEAM, "title": WORDS}, optional={"body": WORDS, "points": POINTS, "tags": TAGS}
        ),
    ),
    st.tuples(st.just("get_ticket"), st.fixed_dictionaries({"team": TEAM, "id": NUMBER})),
    st.tuples(
        st.just("update_ticket"),
        st.fixed_dictionaries(
            {"team": TEAM, "id": NUMBER},
            optional={"title": WORDS, "body": st.none() | WORDS, "points": POINTS},
        ),
    ),
    st.tuples(st.just("close_ticket"), st.fixed_dictionaries({"team": TEAM, "id": NUMBER})),
    st.tuples(
        st.just("score_ticket"),
        st.fixed_dictionaries({"team": TEAM, "id": NUMBER, "by": POINTS}),
    ),
    st.tuples(
        st.just("delete_tickets"),
        st.fixed_dictionaries({"team": TEAM, "ids": st.lists(NUMBER, min_size=1, max_size=2)}),
    ),
    st.tuples(
        st.just("count_tickets"),
        st.fixed_dictionaries(
            {}, optional={"team": TEAM, "state": st.sampled_from(["open", "closed"])}
        ),
    ),
    st.tuples(
        st.just("search_tickets"),
        st.fixed_dictionaries(
            {"query": WORDS},
            optional={"offset": st.integers(0, 3), "limit": st.integers(0, 4)},
        ),
    ),
    st.tuples(
        st.just("list_tickets"),
        st.fixed_dictionaries(
            {"team": TEAM},
            optional={
                "state": st.sampled_from(["open", "closed", "all"]),
                "tag": st.sampled_from(["ui", 'q"t', "none"]),
                "min_points": POINTS,
                "limit": st.integers(1, 5),
            },
        ),
    ),
    st.tuples(
        st.just("list_tickets"),
        st.fixed_dictionaries(
            {
                "team": TEAM,
                "sort": st.sampled_from(["points", "title"]),
                "direction": st.sampled_from(["asc", "desc"]),
                "limit": st.integers(1, 5),
            }
        ),
    ),
    st.tuples(st.sampled_from(["fork", "reopen", "pages", "rest"]), st.just({})),
)


def agrees(answer: Observation, wanted: Any, model: Model) -> None:
    """Asserts that an answer is what the model says."""
    if isinstance(wanted, str):
        assert (answer.is_error, answer.text) == (True, wanted)
        return
    assert not answer.is_error, answer.text
    value = answer.structured if answer.structured is not None else json.loads(answer.text)
    if isinstance(wanted, list):
        expected = cast("list[dict[str, Any]]", wanted)
        assert [visible(one) for one in value] == [visible(one) for one in expected]
    elif "items" in wanted:
        assert [visible(one) for one in value["items"]] == [visible(one) for one in wanted["items"]]
        assert (value["total"], value["has_more"]) == (wanted["total"], wanted["has_more"])
        assert ("next" in value) == wanted["has_more"]
        if "next" in value:
            model.cursors[value["next"]] = wanted["next"]
    elif "title" in wanted:
        assert visible(value) == visible(wanted)
    else:
        assert {name: value[name] for name in wanted} == wanted


def visible(record: dict[str, Any]) -> dict[str, Any]:
    """Without the times, which the model does not keep."""
    return {name: value for name, value in record.items() if not name.endswith("_at")}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CALLS, min_size=1, max_size=25))
async def test_random_calls_are_answered_as_a_plain_model_answers_them(
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    store = MemoryStore()
    model = Model()
    model.tickets.append({"id": 1, "team": "red", "title": "begun", "state": "closed", "points": 7})
    model.last["red"] = 1
    world = await opened(PLAN, store=store, id="w")
    for name, given_arguments in calls:
        if name == "fork":
            # What the fork does, the world it came from does not see.
            fork = await world.fork()
            await fork.step(ToolCall("create_ticket", {"team": "red", "title": "elsewhere"}))
            await fork.close()
        elif name == "reopen":
            await world.close()
            world = await World.open("w", store=store, engines=[PlannedEngine(PLAN)])
            world.add_tools(TOOLS)
        elif name == "rest":
            assert world.rest()
        elif name == "pages":
            await follow(world, model)
        else:
            turn = await world.step(ToolCall(name, given_arguments))
            agrees(turn.observation, model.answer(name, given_arguments), model)
    await world.close()


async def follow(world: World, model: Model) -> None:
    """Turns page after page; together they are the whole list."""
    arguments: dict[str, Any] = {"team": "red", "limit": 2}
    while True:
        turn = await world.step(ToolCall("list_tickets", arguments))
        agrees(turn.observation, model.answer("list_tickets", arguments), model)
        following = turn.observation.structured.get("next")
        if following is None:
            return
        arguments = {**arguments, "cursor": following}
