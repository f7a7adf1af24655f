"""git's configuration: what holds for a repository, read and changed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pygit2

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.git.git_failure import fatal

T = TypeVar("T")

Setting = tuple[str, str]
"""Full name, section and key in lower case, and value."""

_INCLUDE, _BROKEN = re.compile(rb"(?i)(inclu)(de)"), re.compile(rb"(?i)(inclu)-(de)")
"""libgit2 would read the host's file that an `[include]` names, so the word is broken while it reads."""


def with_config(
    call: CommandCall, path: str, use: Callable[[pygit2.Config], T], *, write: bool = False
) -> T:
    """Lets libgit2 read, or change, a copy of one configuration file of the world.

    Raises:
        GitFailure: a line cannot be read.
    """
    data = b""
    with suppress(FileNotFoundError, NotADirectoryError):
        data = call.files.read(path)
    with tempfile.TemporaryDirectory(prefix="agentworld-git-") as folder:
        copy = Path(folder) / "config"
        copy.write_bytes(_INCLUDE.sub(rb"\1-\2", data))
        try:
            found = use(pygit2.Config(str(copy)))
        except pygit2.GitError as failure:
            line = re.search(r"line (\d+)", str(failure))
            raise fatal(f"bad config line {line[1] if line else 1} in file {path}") from None
        if write:
            # libgit2 leaves the header of a section whose last setting it took.
            text = re.sub(rb"^\[[^\n]*\]\n(?=\[|\Z)", b"", copy.read_bytes(), flags=re.MULTILINE)
            call.files.write(path, _BROKEN.sub(rb"\1\2", text))
        return found


def settings_in(call: CommandCall, path: str) -> list[Setting]:
    """The settings of one file, in order; none where there is no file."""
    if not call.files.exists(path):
        return []
    return with_config(call, path, lambda config: [(one.name, str(one.value)) for one in config])


def settings_of(call: CommandCall, *more: str) -> list[Setting]:
    """The settings of the machine, of its user and of more files, those that win last."""
    paths = (
        "/etc/gitconfig",
        f"{call.env.get('HOME', '/')}/.config/git/config",
        user_file(call),
        *more,
    )
    return [one for path in paths for one in settings_in(call, path)]


def user_file(call: CommandCall) -> str:
    return f"{call.env.get('HOME', '/')}/.gitconfig"
