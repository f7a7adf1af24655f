"""git in the everyday order of its commands; `tests/machine` compares far more with the real one."""

from __future__ import annotations

import pytest

from agentworld_sim.engines.shell import CommandAnswer, CommandQuestion, FileOperation
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.errors import EngineFailure
from tests.engines.shell.conftest import MachineShell
from tests.engines.shell.imagining import ImaginedWorld, echoed, written

_START = "git init -q -b main r; cd r; git config user.name A; git config user.email a@b.c; echo x > f; git add f; git commit -qm First; "


def test_a_first_commit() -> None:
    shell = MachineShell(Machine())
    said = shell.out(
        "git config --global user.name Ada; git config --global user.email ada@example.com; git init -q -b main /srv/r; "
        "cd /srv/r; echo x > f; git add f; git commit -m First; git status; git log --format='%s %an'"
    )
    assert said.partition("] ")[2] == (
        "First\n 1 file changed, 1 insertion(+)\n create mode 100644 f\n"
        "On branch main\nnothing to commit, working tree clean\nFirst Ada\n"
    )
    with pytest.raises(
        EngineFailure, match=r"does not compute: git rebase\. .* AGENTWORLD_MODEL_URL"
    ):
        shell.run("git rebase main")


async def test_what_git_does_not_compute_is_imagined_on_the_repository_as_it_is() -> None:
    async with await ImaginedWorld.create(echoed) as here:
        turn = await here.turn(_START + "echo y > g; git bisect start | cat; git log --format=%s")
        assert turn.observation.text == "<git bisect start|>\nFirst\n"
        assert turn.observation.provenance == "imagined"
        (question,) = here.imaginer.asked
        status, _, log = question.repository.partition("?? g\n")
        assert (status, log[8:]) == ("## main\n", "(HEAD -> main) First\n")
        turn = await here.turn("cd r; git status -s")
        assert (turn.observation.text, turn.observation.provenance) == ("?? g\n", "computed")


async def test_an_imagined_commit_has_the_message_that_was_piped_in() -> None:
    async with await ImaginedWorld.create(echoed) as here:
        said = await here.out(_START + "echo y > f; echo Two | git commit -aF - --author=Ada")
        assert said == "<git commit -aF - --author=Ada|Two\n>\n"


async def test_a_route_keeps_git_from_being_imagined() -> None:
    async with await ImaginedWorld.create(routes={"git": "compute"}) as here:
        with pytest.raises(EngineFailure, match="does not compute: git bisect"):
            await here.turn("git bisect start")


async def test_commits_that_stop_on_the_way_are_refused_and_change_nothing() -> None:
    async with await ImaginedWorld.create(routes={"git": "compute"}) as here:
        await here.turn(
            _START
            + "git checkout -qb other; echo 2 > g; git add g; git commit -qm Two; echo 3 > f; git commit -qam Three; "
            "git checkout -q main; echo 4 > f; git commit -qam Four"
        )
        with pytest.raises(EngineFailure, match="cherry-pick of several commits that stops at"):
            await here.turn("cd r; git cherry-pick main..other")
        turn = await here.turn("cd r; git status -sb; ls; git log --format=%s; cat f")
        assert turn.observation.text == "## main\nf\nFour\nFirst\n4\n"


@pytest.mark.parametrize(
    "operation",
    [
        written("r/.git/refs/heads/main", "0" * 40),
        written("link/HEAD", "ref: refs/heads/other\n"),
        FileOperation(kind="delete", path="r/.git/index"),
        FileOperation(kind="move", path="r/f", target="r/.git/MERGE_HEAD"),
        FileOperation(kind="mkdir", path="new/.git/objects"),
        written("/srv/bare.git/refs/heads/main", "0" * 40),
        FileOperation(kind="delete", path="/srv/bare.git/objects"),
    ],
)
async def test_no_imagined_command_writes_into_a_repository(operation: FileOperation) -> None:
    def told(_: CommandQuestion) -> CommandAnswer:
        return CommandAnswer(operations=(operation,))

    async with await ImaginedWorld.create(told) as here:
        await here.turn("git init -q --bare /srv/bare.git; " + _START + "ln -s r/.git ../link")
        with pytest.raises(EngineFailure, match="only the machine's own git changes"):
            await here.turn("git bisect start")


async def test_an_imagined_command_may_write_hooks_and_files() -> None:
    def told(_: CommandQuestion) -> CommandAnswer:
        return CommandAnswer(
            operations=(written(".git/hooks/pre-push", "x\n"), written("g", "y\n"))
        )

    async with await ImaginedWorld.create(told) as here:
        assert await here.out(_START + "husky install; cat .git/hooks/pre-push; git status -s") == (
            "x\n?? g\n"
        )


async def test_a_command_that_gave_up_leaves_nothing_in_the_repository() -> None:
    clash = (
        "seq 30 > n; git add n; git commit -qm n; git checkout -qb o; sed -i 1d n; git mv n m; git commit -qam o;"
        "git checkout -q main; sed -i 9d n; git commit -qam p; "
    )
    async with await ImaginedWorld.create(lambda _: "no\n") as here:
        assert await here.out(_START + clash + "git merge o; git status -s; ls") == "no\nf\nn\n"
