"""Which names are unknown commands, what looks installed, and who answers: routes."""

from __future__ import annotations

from typing import cast

import pytest

from agentworld_sim import AccessRefused, UsageError
from agentworld_sim.engines.shell import ShellEngine
from agentworld_sim.engines.shell.commands.helper import BUILTINS
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, COMMON_PROGRAMS
from agentworld_sim.types.tools import Route
from tests.engines.shell.imagining import FunctionImaginer, ImaginedWorld
from tests.engines.shell.test_betrayal import betrayals


async def test_common_commands_look_installed_and_all_who_tell_agree() -> None:
    async with await ImaginedWorld.create() as here:
        script = "command -v hg; type hg; which hg; hash hg; ls /usr/bin/hg /bin/curl; which vi"
        assert await here.out(script) == (
            "/usr/bin/hg\nhg is /usr/bin/hg\n/usr/bin/hg\n/bin/curl\n/usr/bin/hg\n/usr/bin/vi\n"
        )
        assert here.imaginer.asked == []


@pytest.mark.parametrize("kit", ["kit", "json"])
async def test_other_words_are_not_found_by_those_who_tell(kit: str) -> None:
    async with await ImaginedWorld.create() as here:
        script = (
            f"command -v {kit} || echo 1; type {kit} 2> /dev/null || echo 2; which {kit} || echo 3;"
            f" hash {kit} 2> /dev/null || echo 4; compgen -c | grep -x {kit} || echo 5; {kit} a"
        )
        assert await here.out(script) == f"1\n2\n3\n4\n5\n<{kit} a|>\n"


async def test_a_word_that_is_only_looked_up_is_not_asked_for() -> None:
    async with await ImaginedWorld.create() as here:
        script = "if command -v kit > /dev/null; then kit a; else echo none; fi"
        assert await here.out(script) == "none\n"
        script = "echo 'command -v kit || echo none' > s.sh; bash s.sh; bash -c 'type kit'; true"
        assert "none" in await here.out(script)


async def test_no_shipped_name_is_one_that_the_shell_has() -> None:
    assert not (COMMON_PROGRAMS - {*COMMAND_NAMES}) & {*BUILTINS}


async def test_a_dynamic_name_is_learned_when_it_fails() -> None:
    async with await ImaginedWorld.create() as here:
        assert await here.out("x=k; y=t; ${x}i$y a; ${x}o$y b") == "<kit a|>\n<kot b|>\n"
        assert await here.out("echo ki > f; $(cat f)t c | cat") == "<kit c|>\n"
        assert await here.out("x=/usr/local/bin; $x/tool d") == "</usr/local/bin/tool d|>\n"


async def test_a_text_that_only_looks_like_a_failure_changes_nothing() -> None:
    async with await ImaginedWorld.create() as here:
        line = "bash: line 1: kit: command not found"
        turn = await here.turn(f"echo '{line}'")
        assert turn.observation.text == f"{line}\n"
        assert turn.observation.provenance == "computed"


async def test_paths_to_programs_are_imagined_and_other_missing_paths_are_not() -> None:
    async with await ImaginedWorld.create() as here:
        script = "/usr/local/bin/tool a; PATH=$PATH:/opt/x/bin; /opt/x/bin/other b"
        assert await here.out(script) == "</usr/local/bin/tool a|>\n</opt/x/bin/other b|>\n"
        assert await here.out("./nope; /root/nope; echo $?") == (
            "127\nbash: line 1: ./nope: No such file or directory\n"
            "bash: line 1: /root/nope: No such file or directory\n"
        )


async def test_a_search_path_without_usr_bin_does_not_find_installed_commands() -> None:
    async with await ImaginedWorld.create() as here:
        assert "127" in await here.out("PATH=/nowhere; hg a 2> /dev/null; echo $?")


RUBY = "#!/usr/bin/env ruby\\nimport os\\nprint(1)\\n"


async def test_a_script_for_an_interpreter_the_shell_lacks_is_imagined_with_its_text() -> None:
    async with await ImaginedWorld.create() as here:
        script = f"printf '{RUBY}' > a.py; chmod +x a.py; ./a.py x; echo y | /root/a.py -"
        assert await here.out(script) == "<ruby ./a.py x|>\n<ruby /root/a.py -|y\n>\n"
        assert "import os" in here.imaginer.asked[0].files["/root/a.py"]
        assert await here.out("cd /tmp; d=..; $d/root/a.py") == "<ruby ../root/a.py|>\n"
        assert await here.out("find . -name a.py -exec {} 1 \\;") == "<ruby ./a.py 1|>\n"
        await here.turn("mv a.py /usr/local/bin/tool")
        assert await here.out("tool x; echo y | xargs tool") == (
            "<ruby /usr/local/bin/tool x|>\n<ruby /usr/local/bin/tool y|>\n"
        )


async def test_machine_code_is_imagined_and_shell_scripts_are_run() -> None:
    async with await ImaginedWorld.create() as here:
        script = "printf '\\177ELF\\002' > bin; chmod +x bin; ./bin a"
        assert await here.out(script) == "<./bin a|>\n"
        script = "printf '#!/bin/sh\\necho real $1\\n' > s; chmod +x s; ./s b; xargs ./s <<< c"
        assert await here.out(script) == "real b\nreal c\n"


async def test_a_program_of_the_worlds_own_comes_before_imagination() -> None:
    async with await ImaginedWorld.create() as here:
        make = "echo 'echo real $1' > /usr/local/bin/kit; chmod +x /usr/local/bin/kit"
        assert await here.out(f"kit 1; {make}; kit 2; echo 3 | xargs kit") == (
            "<kit 1|>\nreal 2\nreal 3\n"
        )
        assert await here.out("kit 4; bash -c 'kit 5'") == "real 4\nreal 5\n"
        assert await here.out("cp /usr/local/bin/kit /usr/local/bin/hg; hg 6") == "real 6\n"
        assert here.imaginer.asked == []


async def test_routes_send_commands_the_shell_has_to_the_imaginer() -> None:
    async with await ImaginedWorld.create(routes={"cat": "imagine", "so*": "imagine"}) as here:
        assert await here.out("cat f") == "<cat f|>\n"
        assert await here.out("ls /etc/h* | sort -r; /bin/cat g") == (
            "<sort -r|/etc/hostname\n/etc/hosts\n>\n<cat g|>\n"
        )
        assert await here.out("echo a | xargs cat; tail -1 /etc/hostname") == "<cat a|>\ndebian\n"


async def test_routes_leave_commands_to_the_shell_which_does_not_have_them() -> None:
    async with await ImaginedWorld.create(routes={"hg": "imagine", "*": "compute"}) as here:
        assert await here.out("hg a; kit b; curl c; command -v curl || echo none") == (
            "<hg a|>\nnone\nbash: line 1: kit: command not found\n"
            "bash: line 1: curl: command not found\n"
        )
        assert await here.out("printf '#!/usr/bin/ruby\\n' > a; chmod +x a; ./a; echo $?") == (
            "127\nbash: line 1: ./a: cannot execute: required file not found\n"
        )


async def test_a_carriage_return_is_a_part_of_the_interpreters_name() -> None:
    async with await ImaginedWorld.create() as here:
        assert await here.out("printf '#!/bin/sh\r\nls\r\n' > a; chmod +x a; ./a; echo $?") == (
            "127\nbash: line 1: ./a: cannot execute: required file not found\n"
        )
        assert await here.out(
            "printf '#!/usr/bin/env python3\r\n1' > b; chmod +x b; ./b; echo $?"
        ) == (
            "127\n/usr/bin/env: \u2018python3\\r\u2019: No such file or directory\n"
            "/usr/bin/env: use -[v]S to pass options in shebang lines\n"
        )


@pytest.mark.parametrize("script", ["ssh host", "echo a | xargs ssh", "bash -c 'ls | ssh h'"])
async def test_a_refused_command_refuses_the_step_and_leaves_no_trace(script: str) -> None:
    async with await ImaginedWorld.create(routes={"s*h": "refuse", "sh": "compute"}) as here:
        before = here.world.ref
        with pytest.raises(AccessRefused, match=r"'ssh' may not .*'s\*h' is 'refuse'") as refused:
            await here.turn(f"touch f; {script}")
        assert script in str(refused.value)
        assert here.world.ref == before
        assert await here.out("ls") == ""


async def test_an_exact_route_counts_before_a_pattern() -> None:
    async with await ImaginedWorld.create(routes={"k*": "refuse", "kit": "imagine"}) as here:
        assert await here.out("kit a") == "<kit a|>\n"


def test_a_route_that_does_not_exist_is_named() -> None:
    routes = cast("dict[str, Route]", {"hg": "imagin"})
    with pytest.raises(UsageError, match=r"'hg' has the route 'imagin'\. Did you mean 'imagine'"):
        ShellEngine(imaginer=FunctionImaginer(), routes=routes)


def test_a_builtin_of_the_shell_itself_cannot_be_routed_away() -> None:
    with pytest.raises(UsageError, match="'cd' cannot have the route 'imagine': it is a builtin"):
        ShellEngine(imaginer=FunctionImaginer(), routes={"cd": "imagine"})


@pytest.mark.parametrize(
    "script",
    [
        "cat /usr/bin/hg; strings /usr/bin/npm; file /usr/bin/node; ls -l /usr/bin | head -40",
        "set -x; hg a; kit b; bash -x /usr/bin/hg c; sh -xc 'kit d'",
        "compgen -c | grep -x kit; type -a hg; declare -F; alias; hash; hg; hash",
        "nosuch/tool; ./nope; /usr/local/bin/tool; sudo -l; help | head -3",
    ],
)
async def test_nothing_shows_how_commands_are_answered(script: str) -> None:
    async with await ImaginedWorld.create() as here:
        text = await here.out(script)
        assert betrayals(text) == []
        assert "imagin" not in text
