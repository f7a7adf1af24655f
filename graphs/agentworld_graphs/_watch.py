"""What travels with a simulated run into everything that it calls.

LangChain hands the callbacks of a run on to all that is called in it: nodes, subgraphs, agents inside
tools, whatever thread they run under. So the handler here is where a tool node deep inside finds out
that it is part of a simulation, and it stops a real tool or a provider-side one that nothing caught.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from agentworld_graphs._access import Choice
from agentworld_graphs._failures import SimulationInterrupted
from agentworld_graphs._provider import provider_side_among, refusal_of
from agentworld_graphs._tracing import METADATA_KEY
from agentworld_sim import AccessRefused

_let_through: ContextVar[str | None] = ContextVar("_let_through", default=None)
"""The name of the real tool that a tool node of ours is about to run."""


class SimulationWatch(BaseCallbackHandler):
    """Carries a simulation, and stops what would get past it."""

    raise_error = True
    # In the caller's own context: a handler in a thread of its own could not stop anything.
    run_inline = True

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Before a model is asked.

        Raises:
            SimulationInterrupted: it would be given provider-side tools.
        """
        names = provider_side_among(
            cast("Mapping[str, Any]", kwargs.get("invocation_params") or {})
        )
        if names:
            raise SimulationInterrupted(
                AccessRefused(
                    "the model was not asked."
                    + "".join(f"\n- {refusal_of(name)}" for name in names)
                )
            )

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Before a tool runs.

        Raises:
            SimulationInterrupted: it is a real one that was not allowed.
        """
        name = str(serialized.get("name"))
        if METADATA_KEY in (metadata or {}) or name == _let_through.get():
            return
        if self.choice.may_run(name):
            return
        raise SimulationInterrupted(
            AccessRefused(
                f"the real tool {name!r} was about to run where nothing can take its place: a function"
                " of the graph calls it itself, or a middleware inside of SimulatedTools chose it. Give"
                " simulate(tool, world) there instead, put SimulatedTools last, or let the real tool"
                f" run (access={{{name!r}: 'real'}})."
            )
        )


@contextmanager
def let_through(name: str) -> Generator[None]:
    """Lets one real tool run that may."""
    token = _let_through.set(name)
    try:
        yield
    finally:
        _let_through.reset(token)


def watches_in(config: RunnableConfig | None) -> SimulationWatch | None:
    """The simulation that a run is part of, if it is part of one."""
    for handler in _handlers((config or {}).get("callbacks")):
        if isinstance(handler, SimulationWatch):
            return handler
    return None


def watch_from_here(config: RunnableConfig, choice: Choice) -> None:
    """Makes what is called with `config` part of a simulation."""
    if watches_in(config) is not None:
        return
    callbacks = config.get("callbacks")
    watch = SimulationWatch(choice)
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(watch, inherit=True)
        config["callbacks"] = manager
    else:
        config["callbacks"] = [*(callbacks or ()), watch]


def _handlers(callbacks: object) -> Sequence[object]:
    if isinstance(callbacks, BaseCallbackManager):
        return callbacks.handlers
    return cast("Sequence[object]", callbacks) if isinstance(callbacks, list) else ()
