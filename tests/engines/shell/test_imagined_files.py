"""File operations of imagined commands: checked, then carried out with the turn, all or none."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import EngineFailure
from agentworld_sim.engines.shell import (
    CommandAnswer,
    CommandQuestion,
    FileOperation,
    ShellLimits,
)
from tests.engines.shell.imagining import ImaginedWorld, written


def operation(kind: Any, path: str, **more: Any) -> FileOperation:
    return FileOperation(kind=kind, path=path, **more)


def doing(*operations: FileOperation) -> CommandAnswer:
    return CommandAnswer(operations=operations)


async def test_operations_change_the_files_that_the_rest_of_the_script_sees() -> None:
    answer = doing(
        written("new/deep/f", "one\n"),
        operation("append", "new/deep/f", content="two\n"),
        written("/tmp/tool", "#!/bin/sh\necho ran\n", mode=0o755),
        operation("mkdir", "folder", mode=0o700),
        operation("move", "old", target="folder/moved"),
        operation("delete", "gone"),
        operation("chmod", "kept", mode=0o600),
        written("kept", "other\n"),
    )
    async with await ImaginedWorld.create(lambda _: answer) as here:
        await here.turn("echo old > old; mkdir gone; echo x > gone/x; echo kept > kept; umask 077")
        turn = await here.turn("kit && cat new/deep/f folder/moved kept; /tmp/tool; ls; ls gone")
        assert turn.observation.text == (
            "one\ntwo\nold\nother\nran\nfolder\nkept\nnew\n"
            "ls: cannot access 'gone': No such file or directory\n"
        )
        assert await here.out("stat -c '%a %n' folder kept new new/deep/f") == (
            "700 folder\n600 kept\n755 new\n644 new/deep/f\n"
        )
        files = (await here.world.state()).files
        assert files["/root/new/deep/f"].size == 8
        assert files["/root/new/deep/f"].mtime_us // 10**6 == files["/tmp/tool"].mtime_us // 10**6


async def test_operations_are_relative_to_where_the_command_runs() -> None:
    async with await ImaginedWorld.create(lambda _: doing(written("../f", "x"))) as here:
        await here.turn("mkdir -p a/b; cd a/b; kit")
        assert await here.out("find . -type f -newermt 2025-01-01") == "./a/f\n"


async def test_operations_follow_links_inside_the_world() -> None:
    answer = doing(written("link/f", "x"), operation("delete", "link"))
    async with await ImaginedWorld.create(lambda _: answer) as here:
        assert (
            await here.out("mkdir d; ln -s d link; kit; ls -A | grep -v '^\\.'; cat d/f") == "d\nx"
        )


async def test_an_imagined_program_can_be_run_afterwards() -> None:
    def compiled(question: CommandQuestion) -> CommandAnswer | str:
        if question.argv[0] == "gcc":
            return doing(written("prog", "\x7fELF\x02…", mode=0o755))
        return " ".join(question.argv) + "\n"

    async with await ImaginedWorld.create(compiled) as here:
        assert await here.out("gcc -o prog p.c && ./prog a | cat") == "./prog a\n"
        assert await here.out("xargs ./prog <<< b") == "./prog b\n"


IMPOSSIBLE = {
    "escapes": (doing(written("/proc/1/x")), "'/proc/1/x' lies in /proc, which the machine"),
    "climbs": (doing(written("../../../../../dev/sda")), "lies in /dev, which the machine"),
    "through a link": (doing(written("/bin/ls", "x")), "'/bin/ls' lies in /usr/bin"),
    "through a link of the world": (doing(written("sys/x", "x")), "'sys/x' lies in /sys"),
    "a program": (doing(operation("delete", "/usr/bin/ls")), "lies in /usr/bin"),
    "the system": (doing(operation("delete", "/usr")), "/usr holds parts of the system"),
    "everything": (doing(operation("delete", "/")), "/ holds parts of the system"),
    "here": (doing(operation("move", ".", target="/x")), "holds the working directory"),
    "zero": (doing(written("a\0b")), "not a path: 'a\\x00b'"),
    "no path": (doing(written("")), "not a path: ''"),
    "long": (doing(written("x" * 300)), "the path is too long"),
    "a surrogate": (doing(written("f", "\ud800")), "the content holds half of a surrogate"),
    "a surrogate in a path": (doing(written("\udc80")), "the path holds half of a surrogate"),
    "onto a folder": (doing(written("/tmp")), "/tmp is a directory, not a file"),
    "below a file": (doing(written("f/x")), "/root/f is a file, not a directory"),
    "missing": (doing(operation("delete", "nope")), "there is no /root/nope"),
    "moved missing": (doing(operation("move", "nope", target="x")), "there is no /root/nope"),
    "moved nowhere": (doing(operation("move", "f")), "`move` needs a target"),
    "moved into itself": (doing(operation("move", "d", target="d/e")), "moved into itself"),
    "moved onto a folder": (doing(operation("move", "f", target="d")), "there is a directory at"),
    "no mode": (doing(operation("chmod", "f")), "`chmod` needs a mode"),
    "a wrong mode": (doing(operation("chmod", "f", mode=0o10000)), "the mode 10000 is none"),
    "in order": (
        doing(operation("delete", "f"), operation("chmod", "f", mode=0o600)),
        "operation 2 (chmod 'f'): there is no /root/f",
    ),
    "links in a circle": (doing(written("loop/x")), "too many symbolic links"),
    "too large": (doing(written("f", "x" * 5_000)), "5,000 bytes, and at most 4,000"),
    "grown too large": (
        doing(written("f", "x" * 3_000), operation("append", "f", content="x" * 3_000)),
        "6,000 bytes, and at most 4,000",
    ),
    "too much": (
        doing(*(written(f"g{n}", "x" * 3_500) for n in range(20))),
        "bytes, and at most 60,000",
    ),
    "too many": (doing(*(written(f"g{n}") for n in range(90))), "files, and at most 80"),
    "too many operations": (doing(*(written("g") for _ in range(501))), "501 file operations"),
    "exit code": (CommandAnswer(exit_code=-1), "the exit code is -1"),
    "output": (CommandAnswer(stdout="\ud800"), "stdout holds half of a surrogate"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
async def test_what_cannot_be_carried_out_is_told_to_the_imaginer_and_changes_nothing(
    case: str,
) -> None:
    answer, reason = IMPOSSIBLE[case]
    limits = ShellLimits(file_bytes=4_000, files=80, total_bytes=60_000)
    async with await ImaginedWorld.create(lambda _: answer, limits=limits) as here:
        await here.turn("echo a > f; mkdir d; ln -s /sys sys; ln -s loop loop")
        before = here.world.ref
        with pytest.raises(EngineFailure):
            await here.turn("kit")
        (problem,) = here.imaginer.problems
        assert reason in problem
        assert here.world.ref == before


async def test_an_answer_is_checked_against_the_files_at_its_own_moment() -> None:
    """What the script has made or removed before the command counts, and what comes after does not."""

    def told(question: CommandQuestion) -> CommandAnswer:
        return doing(operation("chmod", "f", mode=0o600))

    async with await ImaginedWorld.create(told) as here:
        assert await here.out("echo a > f; kit; stat -c %a f; rm f") == "600\n"
        with pytest.raises(EngineFailure, match="there is no /root/f"):
            await here.turn("kit; echo a > f")


async def test_an_imagined_look_command_may_write() -> None:
    async with await ImaginedWorld.create(
        lambda _: doing(written("seen", "x")), routes={"cat": "imagine"}
    ) as here:
        await here.turn("cat f")
        assert "/root/seen" in (await here.world.state()).files
