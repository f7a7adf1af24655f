"""The knowledge graph of `@modelcontextprotocol/server-memory`, release 2026.8.

Held against recordings of the real server. A node and a relation are a value of the world each, so
that a turn records what it changed and not the whole graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn, ServerValues
from agentworld_sim.types.turns import Observation

Item = Mapping[str, Any]

_ENTITY_KEYS = ("name", "entityType", "observations")
_RELATION_KEYS = ("from", "to", "relationType")


class _Items:
    """Entities or relations, in the order in which they were made."""

    def __init__(self, kept: ServerValues, kind: str) -> None:
        self._kept = kept
        self._kind = kind
        self._held: dict[int, Item] = {
            int(number): item for number, item in kept.items(f"{kind}/").items()
        }

    @property
    def all(self) -> list[Item]:
        return list(self._held.values())

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._put(max(self._held, default=-1) + 1, item)

    def update(self, changed: Callable[[Item], Item | None]) -> None:
        """Puts what `changed` gives in the place of each; `None` takes it out."""
        for number, item in list(self._held.items()):
            after = changed(item)
            if after is None:
                del self._held[number]
                self._kept.put(self._key(number), None)
            elif after != item:
                self._put(number, after)

    def _put(self, number: int, item: Item) -> None:
        self._held[number] = item
        self._kept.put(self._key(number), item)

    def _key(self, number: int) -> str:
        return f"{self._kind}/{number:012d}"


class _Graph:
    def __init__(self, turn: ServerTurn) -> None:
        self.entities = _Items(turn.kept, "entity")
        self.relations = _Items(turn.kept, "relation")


def create_entities(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    known = {entity["name"] for entity in graph.entities.all}
    # Two of one name in one call are both new.
    new = [_only(_ENTITY_KEYS, one) for one in arguments["entities"] if one["name"] not in known]
    graph.entities.add(new)
    return _json_observation(new, {"entities": new})


def create_relations(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    known = graph.relations.all
    given = [_only(_RELATION_KEYS, one) for one in arguments["relations"]]
    new = [one for one in given if one not in known]
    graph.relations.add(new)
    return _json_observation(new, {"relations": new})


def add_observations(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    results: list[Item] = []
    grown: dict[str, list[str]] = {}
    first = {entity["name"]: entity for entity in reversed(graph.entities.all)}
    for given in arguments["observations"]:
        name = given["entityName"]
        if name not in first:
            return Observation(text=f"Entity with name {name} not found", is_error=True)
        held = grown.setdefault(name, list(first[name]["observations"]))
        added = [content for content in given["contents"] if content not in held]
        held += added
        results.append({"entityName": name, "addedObservations": added})
    _replace_observations(graph, grown)
    return _json_observation(results, {"results": results})


def delete_observations(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    first = {entity["name"]: entity for entity in reversed(graph.entities.all)}
    left: dict[str, list[str]] = {}
    for given in arguments["deletions"]:
        name = given["entityName"]
        if name in first:
            held = left.setdefault(name, list(first[name]["observations"]))
            left[name] = [one for one in held if one not in given["observations"]]
    _replace_observations(graph, left)
    return _confirmation("Observations deleted successfully")


def _replace_observations(graph: _Graph, observations: Mapping[str, list[str]]) -> None:
    """Of several entities of one name, only the first is found."""
    todo = dict(observations)

    def with_observations(entity: Item) -> Item:
        held = todo.pop(entity["name"], None)
        return entity if held is None else {**entity, "observations": held}

    graph.entities.update(with_observations)


def delete_entities(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    gone = set(arguments["entityNames"])
    graph.entities.update(lambda one: None if one["name"] in gone else one)
    graph.relations.update(lambda one: None if {one["from"], one["to"]} & gone else one)
    return _confirmation("Entities deleted successfully")


def delete_relations(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    gone = [_only(_RELATION_KEYS, one) for one in arguments["relations"]]
    _Graph(turn).relations.update(lambda one: None if one in gone else one)
    return _confirmation("Relations deleted successfully")


def read_graph(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    graph = _Graph(turn)
    return _part(graph.entities.all, graph.relations.all)


def search_nodes(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    query = arguments["query"].lower()

    def fits(entity: Item) -> bool:
        texts = [entity["name"], entity["entityType"], *entity["observations"]]
        return any(query in text.lower() for text in texts)

    return _around(turn, fits)


def open_nodes(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    names = set(arguments["names"])
    return _around(turn, lambda entity: entity["name"] in names)


def _around(turn: ServerTurn, fits: Callable[[Item], bool]) -> Observation:
    """The entities that fit, and the relations that begin or end at one of them."""
    graph = _Graph(turn)
    entities = [entity for entity in graph.entities.all if fits(entity)]
    names = {entity["name"] for entity in entities}
    relations = [one for one in graph.relations.all if {one["from"], one["to"]} & names]
    return _part(entities, relations)


def _only(keys: Sequence[str], item: Item) -> Item:
    return {key: item[key] for key in keys}


def _part(entities: Sequence[Item], relations: Sequence[Item]) -> Observation:
    # What is kept comes back with its keys sorted.
    graph = {
        "entities": [_only(_ENTITY_KEYS, one) for one in entities],
        "relations": [_only(_RELATION_KEYS, one) for one in relations],
    }
    return _json_observation(graph, graph)


def _json_observation(value: Any, structured: Mapping[str, Any]) -> Observation:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return Observation(text=text, structured=structured)


def _confirmation(message: str) -> Observation:
    return Observation(text=message, structured={"success": True, "message": message})
