"""What an imaginer is told of a command, and what its answer may depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell._command_question import CommandQuestion
from agentworld_sim.engines.shell._files import LiveFiles
from agentworld_sim.engines.shell._imagined import Validate
from agentworld_sim.engines.shell.commands.ls import ls
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.types.files import (
    FileEntry,
    FileTree,
    MemoryBlobs,
    blob_id,
    content_sum,
    entry_hash,
    normal_path,
)

MOST_STDIN = 200_000
"""Characters of standard input that are shown."""

MOST_FILE = 50_000
"""Characters of one file that are shown."""

MOST_FILES = 200_000
"""Characters of all files together that are shown."""

MOST_LISTED = 500
"""Lines of the listing."""

MANIFESTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("npm", "npx", "node", "yarn", "pnpm", "bun", "tsc", "jest", "vitest", "eslint"),
        ("package.json", "tsconfig.json"),
    ),
    **dict.fromkeys(
        ("python", "python3", "pip", "pip3", "pytest", "uv", "poetry", "tox", "ruff", "mypy"),
        ("pyproject.toml", "requirements.txt", "setup.py", "setup.cfg"),
    ),
    **dict.fromkeys(("cargo", "rustc"), ("Cargo.toml",)),
    "go": ("go.mod",),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "cmake": ("CMakeLists.txt",),
    "docker": ("Dockerfile", "docker-compose.yml", "compose.yaml"),
    "docker-compose": ("docker-compose.yml", "compose.yaml"),
    "terraform": ("main.tf",),
    "bundle": ("Gemfile",),
    "composer": ("composer.json",),
    "git": (".git/HEAD", ".git/config", ".gitignore"),
}
"""Files in the working directory that a command reads without being told to."""


def stdin_hash(stdin: str | None) -> str:
    """Names an input; empty when nothing is connected."""
    return "" if stdin is None else blob_id(stdin.encode("utf-8", "surrogatepass"))


def question_of(
    argv: tuple[str, ...],
    call: CommandCall,
    files: LiveFiles,
    *,
    script: str,
    digest: str,
    files_sum: int,
    validate: Validate,
) -> CommandQuestion:
    """All that an imaginer is told."""
    stdin = call.stdin
    return CommandQuestion(
        argv=argv,
        stdin=None if stdin is None else cut(stdin, MOST_STDIN),
        cwd=call.cwd,
        env=dict(sorted(call.env.items())),
        user=call.machine.user,
        hostname=call.machine.hostname,
        clock_us=call.clock.now_us(),
        files=_texts(argv, call.cwd, files),
        listing=_listing(call),
        script=script,
        digest=digest,
        files_sum=files_sum,
        validate=validate,
    )


def digest_of(
    argv: tuple[str, ...],
    call: CommandCall,
    files_sum: int,
    others: Sequence[tuple[tuple[str, ...], str]],
) -> str:
    """Hash of all that an answer may depend on. Times are left out: they differ at every call.

    Args:
        argv: The command.
        call: Its input, directory and environment.
        files_sum: The hash of all files.
        others: Commands before it that may have changed what no file tells.
    """
    about = (call.cwd, sorted(call.env.items()), call.machine.user, call.machine.hostname)
    text = json.dumps([argv, stdin_hash(call.stdin), *about, str(files_sum), others])
    return blob_id(text.encode("utf-8", "surrogatepass"))


def sum_of(tree: Mapping[str, FileEntry]) -> int:
    """A hash of a file tree that changes can be added to and taken from."""
    return sum(entry_hash(path, entry) for path, entry in tree.items())


def sum_after(total: int, before: FileTree, changes: Mapping[str, FileEntry | None]) -> int:
    """The hash of the tree with `changes`, from the hash of the tree `before` them."""
    for path, entry in changes.items():
        if path in before:
            total -= entry_hash(path, before[path])
        if entry is not None:
            total += entry_hash(path, entry)
    return total % (1 << 160)


@lru_cache(maxsize=32)
def machine_sum(machine: Machine) -> int:
    """`content_sum` of a freshly installed machine."""
    return content_sum(dict(base_tree(machine, 0, MemoryBlobs())))


def cut(text: str, most: int) -> str:
    """`text`, its middle left out when it is longer than `most` characters."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    left_out = f"\n[… {len(text) - head - tail:,} characters left out …]\n"
    return text[:head] + left_out + text[-tail:]


def _texts(argv: tuple[str, ...], cwd: str, files: LiveFiles) -> Mapping[str, str]:
    name = argv[0].rpartition("/")[2]
    words = [*argv, *MANIFESTS.get(name, ())]
    found: dict[str, str] = {}
    left = MOST_FILES
    for word in words:
        value = word.rpartition("=")[2].removeprefix("@")
        if not value or "\0" in value or len(value) > 4_095:
            continue
        path = normal_path(value if value.startswith("/") else f"{cwd}/{value}")
        if path in found or left <= 0:
            continue
        text = _text_at(path, files)
        if text is not None:
            found[path] = cut(text, min(MOST_FILE, left))
            left -= len(found[path])
    return found


def _text_at(path: str, files: LiveFiles) -> str | None:
    """The text of a file; `None` where there is none, or where a program of the system lies."""
    try:
        if path.startswith(("/usr/bin/", "/dev/")) or files.stat(path).kind != "file":
            return None
        data = files.read(path)
    except OSError:
        return None
    if b"\0" in data[:1_024]:
        return f"[binary, {len(data):,} bytes]"
    return data.decode("utf-8", "replace")


def _listing(call: CommandCall) -> tuple[str, ...]:
    shown = ls(replace(call, name="ls", argv=("-lA",), stdin=None))
    lines = shown.stdout.splitlines()
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"[… {len(lines) - MOST_LISTED:,} more …]"]
    return tuple(lines)
