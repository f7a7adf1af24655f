"""A command that the shell does not have is answered wherever it stands."""

from __future__ import annotations

import pytest

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.engines.shell import CommandAnswer, ShellEngine
from tests.engines.shell.imagining import MACHINE, TOOLS, ImaginedWorld, called

PLACES = {
    "kit a": "<kit a|>\n",
    "echo in | kit a": "<kit a|in\n>\n",
    "kit a | tr a-z A-Z": "<KIT A|>\n",
    "kit a | kit b": "<kit b|<kit a|>\n>\n",
    "for i in 1 2; do kit $i; done | sort -r": "<kit 2|>\n<kit 1|>\n",
    "while read l; do kit $l < /dev/null; done <<< $'1\n2'": "<kit 1|>\n<kit 2|>\n",
    'echo "[$(kit a)]"': "[<kit a|>]\n",
    "f() { kit $1; }; f x": "<kit x|>\n",
    "(kit a)": "<kit a|>\n",
    "{ kit a; } > f; cat f": "<kit a|>\n",
    "kit a > f; wc -l < f": "1\n",
    "cat <(kit a)": "<kit a|>\n",
    "kit <<< in": "<kit|in\n>\n",
    "printf 'a b' | xargs -n1 kit": "<kit a|>\n<kit b|>\n",
    "touch f; find . -name f -exec kit {} \\;": "<kit ./f|>\n",
    "touch f; find . -name f -exec kit {} +": "<kit ./f|>\n",
    "env A=1 kit a": "<kit a|>\n",
    "env -i A=1 PATH=/usr/bin hg a": "<hg a|>\n",
    "env - sh -c 'hg a | cat'": "<hg a|>\n",
    "kit <<E\n$HOME\nE": "<kit|/root\n>\n",
    'x=$(echo 1 2 | xargs -n1 bash -c \'echo $(kit "$0" | cat)\'); echo "$x"': (
        "<kit 1|>\n<kit 2|>\n"
    ),
    "! kit -x && echo negated": "<kit -x|>\nnegated\n",
    'kit a | while read l; do echo x | kit "$l"; done': "<kit <kit a|>|x\n>\n",
    "ruby - <<E\nprint(1)\nE": "<ruby -|print(1)\n>\n",
    "kit() { echo mine; }; command kit b": "<kit b|>\n",
    "timeout 5 kit a": "<kit a|>\n",
    "sudo kit a": "<kit a|>\n",
    "nohup kit a": "<kit a|>\n",
    "nice kit a": "<kit a|>\n",
    "eval kit a": "<kit a|>\n",
    "command kit a": "<kit a|>\n",
    "exec kit a": "<kit a|>\n",
    "{ time -p kit a; } 2> /dev/null": "<kit a|>\n",
    "bash -c 'kit a'": "<kit a|>\n",
    "echo 'kit a' | sh": "<kit a|>\n",
    "echo 'kit $1' > s.sh; chmod +x s.sh; ./s.sh b": "<kit b|>\n",
    "echo 'kit $1' > s; bash s b": "<kit b|>\n",
    "echo 'kit a' > s; . ./s": "<kit a|>\n",
    "trap 'kit bye' EXIT; echo hi": "hi\n<kit bye|>\n",
    "printf 'all:\\n\\t@kit q\\n' > Makefile; make": "<kit q|>\n",
    "awk 'BEGIN { system(\"kit a\") }'": "<kit a|>\n",
    "kit a & wait": "<kit a|>\n",
    "'kit' a; k\\it b": "<kit a|>\n<kit b|>\n",
    "if kit -x; then echo yes; else echo $?; fi": "<kit -x|>\n3\n",
    "kit -x || echo failed": "<kit -x|>\nfailed\n",
    "set -e; kit -x; echo no": "<kit -x|>\n",
    "kit -x | cat; echo ${PIPESTATUS[@]}": "<kit -x|>\n3 0\n",
    "set -o pipefail; kit -x | cat > /dev/null; echo $?": "3\n",
    "kit -e 2>&1 > /dev/null": "kit: said\n",
    "kit -e 2> f; cat f": "<kit -e|>\nkit: said\n",
    "x=ki; ${x}t a": "<kit a|>\n",
    "x=kit; $x a 2> /dev/null": "<kit a|>\n",
}


@pytest.mark.parametrize("script", PLACES)
async def test_an_unknown_command_is_answered_where_it_stands(script: str) -> None:
    async with await ImaginedWorld.create() as here:
        turn = await here.turn(script)
        assert turn.observation.text.removesuffix("\n") == PLACES[script].removesuffix("\n")
        assert turn.observation.provenance == "imagined"
        assert turn.inner


@pytest.mark.parametrize("name", ["kit", "hg", "curl", "json", "/usr/bin/hg", "/usr/local/bin/x"])
async def test_every_kind_of_name_is_answered_behind_others(name: str) -> None:
    said = "hg" if name == "/usr/bin/hg" else name
    async with await ImaginedWorld.create() as here:
        assert await here.out(f"echo a | xargs {name}; {name} b") == f"<{said} a|>\n<{said} b|>\n"


async def test_a_turn_without_unknown_commands_is_computed() -> None:
    async with await ImaginedWorld.create() as here:
        turn = await here.turn("ls / | head -3; xargs echo < /etc/hostname; find /etc -name hosts")
        assert turn.observation.provenance == "computed"
        assert (turn.inner, turn.exchanges, here.imaginer.asked) == ((), (), [])


async def test_a_builtin_that_does_not_exist_is_not_imagined() -> None:
    async with await ImaginedWorld.create() as here:
        assert await here.out("builtin kit a; echo $?") == (
            "1\nbash: line 1: builtin: kit: not a shell builtin\n"
        )
        assert here.imaginer.asked == []


@pytest.mark.parametrize(
    "said",
    [
        "osascript: execution error: 5\n",
        "Error: resource limit exceeded: cpu\n",
        "fatal: recursion limit (max 100) exceeded\n",
        "bash: line 1: kot: command not found\n",
    ],
)
@pytest.mark.parametrize(
    "script", ["kit", "bash -c kit", "kit 2>&1 | cat", "xargs kit < /dev/null"]
)
async def test_a_message_that_reads_like_a_limit_of_ours_is_only_a_message(
    script: str, said: str
) -> None:
    async with await ImaginedWorld.create(lambda _: CommandAnswer(stderr=said)) as here:
        assert await here.out(script) == said
        assert len(here.imaginer.asked) == 1


async def test_functions_and_aliases_come_before_unknown_commands() -> None:
    async with await ImaginedWorld.create() as here:
        script = "kit() { echo mine; }; kit; hg() { echo also mine; }; hg a"
        assert await here.out(script) == "mine\nalso mine\n"
        await here.turn("shopt -s expand_aliases; alias kit='echo yours'", tool="session")
        assert await here.out("kit a", tool="session") == "yours a\n"
        assert here.imaginer.asked == []


async def test_a_function_kept_from_an_earlier_call_may_call_them() -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("f() { kit $1 2> /dev/null; }", tool="session")
        assert await here.out("f late", tool="session") == "<kit late|>\n"


async def test_a_kept_shell_goes_on_after_an_imagined_command() -> None:
    async with await ImaginedWorld.create() as here:
        await here.turn("a=1; cd /tmp; kit -x", tool="session")
        assert await here.out("echo $? $a $PWD", tool="session") == "3 1 /tmp\n"


async def test_keystrokes_reach_unknown_commands() -> None:
    spec = ToolSpec(name="keys", binds_to="terminal/keystrokes")
    async with await ImaginedWorld.create(tools=(*TOOLS, spec)) as here:
        turn = await here.world.step(
            ToolCall("keys", {"keystrokes": [{"keystrokes": "kit a | cat\n", "duration": 1}]})
        )
        assert "<kit a|>" in turn.observation.text
        assert called(turn.inner) == ["kit a"]


async def test_without_an_imaginer_commands_fail_as_in_a_real_shell() -> None:
    async with await World.create(MACHINE, seed=5, engines=[ShellEngine()]) as world:
        world.add_tools(TOOLS)
        script = "kit a; echo $?; command -v hg || echo none; ls /usr/bin/hg; hg; echo $?"
        turn = await world.step(ToolCall("run", {"command": script}))
        assert turn.observation.provenance == "computed"
        assert "127\nnone\n" in turn.observation.text
        assert "bash: line 1: kit: command not found" in turn.observation.text
        assert turn.inner == ()
