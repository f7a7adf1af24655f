"""The user's own Python behind a world's `python3`: in a jail, on a copy of the world's files.

For what the machine cannot compute: numpy, pandas, torch. It is opt-in and Linux only, and no scenario can ask for it.
It answers `python3` as a model would that imagines it: so what it changes is committed with the turn or not at all,
and a cassette records it and says it again where there is no such environment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from agentworld_sim.engines.shell.command_question import CommandQuestion
from agentworld_sim.engines.shell.file_operations import CommandAnswer
from agentworld_sim.engines.shell.jail import Jail, write_entry
from agentworld_sim.errors import AccessRefused, UsageError
from agentworld_sim.ports import ImaginedValue, PromptContext, Question, StepContext
from agentworld_sim.types.files import Blobs

T = TypeVar("T")

ROUTES: Mapping[str, Any] = {"python": "imagine", "python3": "imagine", "*": "compute"}
"""`routes.commands` of a scenario in which it answers."""


class NativePython:
    """Implements `WorldImaginer` and `Imaginer`."""

    name = ""

    def __init__(self, environment: str | os.PathLike[str]) -> None:
        """`environment`: the folder of a virtual environment of this host, which worlds see read-only.

        Raises:
            UsageError: there is none, or this host cannot lock a process in.
        """
        self._python = Path(environment).expanduser().absolute() / "bin" / "python3"
        if not self._python.exists():
            raise UsageError(
                f"{os.fspath(environment)!r} is no virtual environment: it has no bin/python3. Make one with"
                " `python3 -m venv DIR`, and install there what worlds shall use."
            )
        shown = {self._python.parents[1], self._python.resolve().parents[1]}
        self._jail = Jail(
            sorted(str(path) for path in shown if not path.is_relative_to("/usr")),
            probe=[str(self._python), "-c", ""],
        )

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> NativePython:
        return self

    def acquire(self, user: object) -> None: ...

    async def release(self, user: object) -> None: ...

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        if not isinstance(question, CommandQuestion):
            raise AccessRefused(
                "a native Python answers `python3` alone, and this world has no model."
            )
        answer = await asyncio.to_thread(self._answer, question, context.blobs)
        return ImaginedValue(cast("T", answer), "native")

    def _answer(self, question: CommandQuestion, blobs: Blobs) -> CommandAnswer:
        tree = question.tree
        with TemporaryDirectory(prefix="agentworld-native-") as root:
            for path, entry in tree.items():
                held = question.contents if entry.content in question.contents else blobs
                write_entry(Path(root + path), entry, held)
            done = self._jail.run(
                root,
                [str(self._python), *question.argv[1:]],
                cwd=question.cwd,
                env={**question.env, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
                stdin=(question.stdin or "").encode("utf-8", "surrogateescape"),
            )
            operations = tuple(self._jail.changes(root, tree))
        out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
        return CommandAnswer(
            stdout=out, stderr=err, exit_code=done.returncode, operations=operations
        )
