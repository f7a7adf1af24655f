"""What is recorded of one test, and what of it is replayed.

Only what cannot be computed is on this tape: answers of the language world model, whole or in the middle
of a pipe, and answers of real tools. What is computed is computed again each time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentworld_sim.tools import ToolCall
from agentworld_sim.turns import Observation

if TYPE_CHECKING:
    from agentworld_sim.model import WorldModel
    from agentworld_sim.world import World

TapeMode = Literal["replay", "once", "live", "verify", "off"]
"""How recorded answers are used.

- `replay`: recorded answers only; what was not recorded is a `CassetteMiss`.
- `once`: as `replay` where there is a cassette; where there is none, everything is asked and recorded.
- `live`: the model is asked for everything, and the cassette is written anew. Real tools are not called:
  their recorded answers are replayed.
- `verify`: the model is asked for everything and its answers are compared with the recorded ones; what was
  computed is compared as well. Nothing is written. Real answers are replayed.
- `off`: no cassette is read or written.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeReport:
    """What became of one cassette in one test."""

    path: Path
    mode: TapeMode
    recorded: int = 0
    """Answers written now."""
    replayed: int = 0
    unused: tuple[str, ...] = ()
    """Recorded answers nobody asked for, each in one line."""
    drift: tuple[str, ...] = ()
    """In `verify`: what differs from what was recorded, each with what was recorded and what came."""


class Taping:
    """The cassette of one test, in use. One may serve several worlds, tasks and threads."""

    def __init__(
        self,
        path: Path,
        mode: TapeMode,
        *,
        secrets: Sequence[str] = (),
        volatile: Sequence[str] = (),
    ) -> None:
        """
        Args:
            path: The cassette, a YAML file. It need not be there.
            mode: How it is used.
            secrets: Values that must not be in the file, whatever they look like.
            volatile: Fields of arguments whose values differ each time, as `tool.path`.

        Raises:
            UsageError: the file is no cassette, or of another format version.
        """
        raise NotImplementedError

    def model(self, inner: WorldModel | None) -> WorldModel | None:
        """The model to give to worlds, in place of `inner`.

        Returns:
            One that records or replays; `None` when there is neither a model to ask nor a recording that a
            model made, so that the world computes as it does without a model.
        """
        raise NotImplementedError

    async def real(
        self, call: ToolCall, world: World, run: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """The answer of a real tool that is allowed: recorded, or replayed instead of running it.

        Args:
            call: The call.
            world: The world beside which the tool stands.
            run: Runs the real tool.

        Raises:
            CassetteMiss: it would have to run and may not in this mode.
        """
        raise NotImplementedError

    async def watch(self, world: World) -> None:
        """Notes the computed answers of a world, for `verify`; called once, at the end of the test."""
        raise NotImplementedError

    def finish(self, *, passed: bool) -> TapeReport:
        """Writes what is to be written and says what became of the cassette. Writes nothing for a test
        that failed."""
        raise NotImplementedError
