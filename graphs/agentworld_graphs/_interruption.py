"""How our own failures leave a graph.

A `ToolNode` may turn exceptions into messages (`handle_tool_errors=True`), and an agent must not learn
from our failures. LangGraph lets subclasses of `GraphBubbleUp` pass everything: the run ends with the
exception, nothing is written, and the thread can be resumed from where it was.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

from agentworld_sim import AgentworldError, WorldFailure


class SimulationInterrupted(GraphBubbleUp, AgentworldError):
    """A tool call in a graph got no answer, and the run stopped before anything was written.

    Put right what the message names and invoke the graph again with `None` on the same thread: calls
    that were answered are not answered twice.
    """

    def __init__(self, error: AgentworldError, text: str | None = None) -> None:
        super().__init__(text or error)
        self.error = error
        """What went wrong: a `WorldFailure`, an `AccessRefused` or a `UsageError`."""
        self.exit_code = error.exit_code


def as_ours(error: Exception) -> AgentworldError:
    """The error to raise for any exception on our side of a tool."""
    if isinstance(error, SimulationInterrupted):
        return error.error
    if isinstance(error, AgentworldError):
        return error
    failure = WorldFailure(f"the world broke while it answered: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


@contextmanager
def interrupting(
    only: type[Exception] = Exception, *, but: tuple[type[Exception], ...] = ()
) -> Generator[None]:
    """What fails inside is ours: it ends the run as `SimulationInterrupted`, never becomes a message, and leaves
    the thread as it was. Errors that are not `only` these are somebody else's, and pass as they are; so do
    those `but` for which."""
    try:
        yield
    except (GraphBubbleUp, *but):
        raise
    except only as error:
        raise SimulationInterrupted(as_ours(error)) from error
