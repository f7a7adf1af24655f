"""YAML with the places of everything in it.

PyYAML says where a value begins and ends; a round trip through a library that writes YAML would change
indentation and quotes of lines that nobody touched.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from agentworld_mcp_shim.wrapping._nodes import Document, Member, Node
from agentworld_sim.errors import UsageError

# Its stubs leave types open.
_yaml: Any = yaml


class YamlError(UsageError):
    """The text is no YAML, or more than one document."""


def read_yaml(text: str) -> Document:
    """Reads one YAML document.

    Raises:
        YamlError: with line and column.
    """
    try:
        root = _yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return Document(text, Node("map", 0, 0, {}, flow=False), ": ", bare_keys=True)
        node = _Reader(root).node(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{where}{error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        raise YamlError(f"{str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise YamlError("it is nested too deeply.") from None
    return Document(text, node, assignment=": ", bare_keys=True)


class _Reader:
    def __init__(self, root: Any) -> None:
        self._constructor: Any = SafeConstructor()
        self._used: dict[int, int] = {}
        self._count(root)

    def _count(self, node: Any) -> None:
        """How often each node is used: an alias uses the one of its anchor again."""
        key = id(node)
        self._used[key] = self._used.get(key, 0) + 1
        if self._used[key] > 1:
            return
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                self._count(name)
                self._count(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._count(value)

    def node(self, node: Any, inside: frozenset[int] = frozenset()) -> Node:
        start, end = node.start_mark.index, node.end_mark.index
        shared = self._used[id(node)] > 1
        if id(node) in inside:
            raise yaml.MarkedYAMLError(
                problem="an alias stands inside its own anchor", problem_mark=node.start_mark
            )
        inside = inside | {id(node)}
        if isinstance(node, yaml.MappingNode):
            members = tuple(
                Member(
                    str(name.value),
                    name.start_mark.index,
                    name.end_mark.index,
                    self.node(value, inside),
                )
                for name, value in node.value
            )
            flow = bool(node.flow_style)
            value = {one.key: one.node.value for one in members}
            end = end if flow or not members else members[-1].end
            return Node("map", start, end, value, members=members, flow=flow, shared=shared)
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.node(item, inside) for item in node.value)
            flow = bool(node.flow_style)
            end = end if flow or not items else items[-1].end
            listed = [one.value for one in items]
            return Node("list", start, end, listed, items=items, flow=flow, shared=shared)
        return Node("scalar", start, end, self._plain(node), shared=shared)

    def _plain(self, node: Any) -> Any:
        # Tags of the client's own, and dates that are none, are text to us.
        if not str(node.tag).startswith("tag:yaml.org,2002:"):
            return node.value
        try:
            return self._constructor.construct_object(node)
        except (ValueError, yaml.YAMLError):
            return node.value
