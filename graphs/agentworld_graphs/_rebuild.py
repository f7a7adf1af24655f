"""A copy of a compiled graph whose tool nodes a world answers, and a search for what it cannot.

Reads how LangGraph, LangChain and deepagents put graphs together: private parts, pinned by canary
tests. What this search does not see is still stopped while the graph runs (`SimulationWatch`).
"""

from __future__ import annotations

import copy
from typing import Any

from langchain_core.runnables import RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph._internal._runnable import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    RunnableSeq,
)
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs]  a namespace
from langgraph.pregel.remote import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    RemoteGraph,
)

from agentworld_graphs._access import Choice, Refusals
from agentworld_graphs._patch import is_simulated, shadow
from agentworld_graphs._search import own_method_of, reachable, trouble_of
from agentworld_graphs._shells import starts_real_shell

# Generic classes, tested for without their parameters.
BINDING: Any = RunnableBinding
SEQUENCES: Any = (RunnableSequence, RunnableSeq)
GRAPH: Any = Pregel


class Rebuild:
    """Copies graphs."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self.refusals = Refusals()
        self._nodes: list[ToolNode] = []
        self._called: list[BaseTool] = []
        """Tools that functions hold, and may call themselves."""
        self._seen: dict[int, Any] = {}

    def bind(self) -> None:
        """Binds the tools of all nodes that were found, before anything runs: together, for one agent
        may change the records that another reads.

        Raises:
            UsageError: the simulation names tools that no node has.
        """
        tools = [tool for node in self._nodes for tool in node.tools_by_name.values()]
        if tools:
            self._choice.require_known(tool.name for tool in [*tools, *self._called])
        real = [node for node in self._nodes if not is_simulated(node)]
        inside = [tool for node in real for tool in node.tools_by_name.values()]
        names = {tool.name for tool in tools}
        self._choice.offer([*inside, *(tool for tool in self._called if tool.name not in names)])
        for node in real:
            self._bind(node)

    @property
    def found(self) -> bool:
        """Whether there is anything to simulate, as far as can be seen before the graph runs."""
        return bool(self._nodes or self._called)

    def graph(self, graph: Any) -> Any:
        """A copy whose tool nodes are simulated; the graph itself when it has none."""
        nodes: dict[str, Any] = {}
        for name, node in graph.nodes.items():
            bound = self.runnable(node.bound, where=name)
            if bound is not node.bound:
                found = [bound] if isinstance(bound, GRAPH) else []
                nodes[name] = node.copy({"bound": bound, "subgraphs": found or node.subgraphs})
        return graph.copy({"nodes": {**graph.nodes, **nodes}}) if nodes else graph

    def runnable(self, runnable: Any, *, where: str) -> Any:
        """A node's runnable with simulated tool nodes in it; itself when there are none."""
        if isinstance(runnable, ToolNode):
            return self._tool_node(runnable)
        if isinstance(runnable, GRAPH):
            return self.graph(runnable)
        if isinstance(runnable, RemoteGraph):
            self._refuse(
                f"the node {where!r} is a graph on another server, whose tools are out of reach."
            )
            return runnable
        if isinstance(runnable, SEQUENCES):
            return self._sequence(runnable, where=where)
        if isinstance(runnable, BINDING):
            bound = self.runnable(runnable.bound, where=where)
            if bound is not runnable.bound:
                return runnable.model_copy(update={"bound": bound})
        self._search(runnable, where=where)
        return runnable

    def _sequence(self, sequence: Any, *, where: str) -> Any:
        steps = [self.runnable(step, where=where) for step in sequence.steps]
        if all(new is old for new, old in zip(steps, sequence.steps, strict=True)):
            return sequence
        if isinstance(sequence, SEQUENCES[0]):
            return SEQUENCES[0](*steps, name=sequence.name)
        made = copy.copy(sequence)
        made.steps = steps
        return made

    def _tool_node(self, node: ToolNode) -> ToolNode:
        self._search(node, where=node.name or "tools")
        self._nodes.append(node)
        return node if is_simulated(node) else shadow(node, self._choice)

    def _bind(self, node: ToolNode) -> None:
        tools = list(node.tools_by_name.values())
        self.refusals.lines += [shell for tool in tools if (shell := starts_real_shell(tool))]
        key: str = node._messages_key  # pyright: ignore[reportPrivateUsage]  as `shadow` does
        self._choice.all_of(tools, messages_key=key, refusals=self.refusals)

    def _search(self, start: Any, *, where: str) -> None:
        """Looks for what cannot be simulated in what a node holds, nested agents included."""
        for one in reachable(start, self._seen):
            if isinstance(one, ToolNode):
                if one is not start and not is_simulated(one):
                    self._nodes.append(one)
            elif isinstance(one, BaseTool):
                self._called.append(one)
                method = own_method_of(one)
                if method is not None and not self._choice.may_run(one.name):
                    self._refuse(
                        f"the node {where!r} calls the tool {one.name!r}, whose class has a"
                        f" {method!r} of its own that nothing can take the place of. Define `_run`"
                        " and `_arun` instead, give the tool to a ToolNode, or let it run"
                        f" (access={{{one.name!r}: 'real'}})."
                    )
            elif (reason := trouble_of(one)) is not None:
                self._refuse(f"the node {where!r}: {reason}")

    def _refuse(self, line: str) -> None:
        if line not in self.refusals.lines:
            self.refusals.lines.append(line)
