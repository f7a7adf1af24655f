"""Folders of tasks for containers, as scenarios: what is read of them, what is refused, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim.errors import ScenarioError
from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.files import MemoryBlobs
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World

RUN = ToolSpec(name="bash", binds_to="shell/run")

TEST = """\
#!/bin/bash
apt-get update && apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh
source $HOME/.local/bin/env
uvx -p 3.13 -w pytest==8.4.1 bash /tests/check.sh --ctrf /logs/verifier/ctrf.json
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""

Task = Callable[..., Path]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """Writes the folder of a task."""

    def write(dockerfile: str = "FROM python:3.13-slim\nWORKDIR /app\n", **files: str) -> Path:
        folder = tmp_path / "sum-up"
        texts = {
            "task.toml": '[verifier]\ntimeout_sec = 90.0\n[verifier.env]\nWANTED = "6"\n[environment]\ncpus = 3\n',
            "instruction.md": "Write the sum of data.txt to sum.txt.\n",
            "environment/Dockerfile": dockerfile,
            "environment/data.txt": "1\n2\n3\n",
            "tests/test.sh": TEST,
            "tests/check.sh": 'test "$(cat sum.txt)" = "$WANTED"\n',
            **files,
        }
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return write


DOCKERFILE = """\
# a comment
FROM --platform=linux/amd64 python:3.13-slim
ARG WHERE=app
ENV NAME=ada \\
    # a comment between
    GREETING="hello ${WHERE}"
ENV PATH="/opt/own/bin:${PATH}"
WORKDIR /$WHERE
COPY --chown=www-data data.txt notes/*.md ./
COPY ["data.txt", "/srv/copy.txt"]
COPY <<EOF /etc/motd
welcome
EOF
RUN apt-get update && apt-get install -y tmux \\
    && rm -rf /var/lib/apt/lists/* && ln -s /usr/bin/sed /usr/bin/stream
RUN <<EOF
echo "$NAME, $GREETING" > greeting
mkdir -p deep/er && chmod 600 greeting
EOF
USER www-data
CMD ["bash"]
"""


async def test_the_dockerfile_is_carried_out(task: Task) -> None:
    scenario = Scenario.load(task(DOCKERFILE, **{"environment/notes/n.md": "n"}))
    tree = scenario.initial_tree(MemoryBlobs())
    assert (tree["/app/data.txt"].owner, tree["/srv/copy.txt"].owner) == ("www-data", "root")
    assert tree["/app/greeting"].mode == 0o600
    assert {"/app/n.md", "/app/deep/er", "/etc/motd", "/usr/local/bin/stream"} <= set(tree)
    assert "/app/Dockerfile" not in tree
    machine = scenario.machine
    assert (machine.workdir, machine.user, machine.cpus) == ("/app", "www-data", 3)
    path = "/opt/own/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert machine.env == {"NAME": "ada", "GREETING": "hello app", "PATH": path}
    assert scenario.limits.wall_seconds == 90
    assert scenario.name == "sum-up"
    assert "tmux" in scenario.description
    async with await World.create(scenario) as world:
        world.add_tools([RUN])
        said = await world.step(
            ToolCall("bash", {"command": "pwd; whoami; cat /etc/motd; ls /tests"})
        )
        assert said.observation.structured["stdout"] == "/app\nwww-data\nwelcome\n"
    assert Scenario.load(task()).canonical() == Scenario.load(task()).canonical()


async def test_the_verdict_is_that_of_the_tests_and_the_agents_world_is_untouched(
    task: Task,
) -> None:
    folder = task("FROM ubuntu:24.04\nWORKDIR /app\nCOPY . .\n")
    async with await World.create(Scenario.load(folder)) as world:
        world.add_tools([RUN])

        async def verdict(command: str) -> bool:
            await world.step(ToolCall("bash", {"command": command}))
            before = world.ref
            (result,) = await check_goals(world)
            assert world.ref == before
            assert not any(
                path.startswith(("/tests", "/logs")) for path in (await world.state()).files
            )
            return result.met

        assert not await verdict("true")
        assert not await verdict("echo 5 > sum.txt")
        assert await verdict("paste -sd+ data.txt | bc > sum.txt || echo 6 > sum.txt")


async def test_tests_may_have_files_that_are_no_text_and_a_reopened_world_has_them(
    task: Task,
) -> None:
    folder = task(**{"tests/test.sh": "test $(od -An -tu1 /tests/data.bin) = 255\n"})
    (folder / "tests/data.bin").write_bytes(b"\xff")
    store = MemoryStore()
    async with await World.create(Scenario.load(folder), id="kept", store=store):
        pass
    async with await World.open("kept", store=store) as world:
        assert (await check_goals(world))[0].met


async def test_nothing_that_an_agent_plants_decides_the_verdict(task: Task) -> None:
    plants = "mkdir -p /tests /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo true > /tests/check.sh; touch /tests/x"
    folder = task(**{"tests/test.sh": "test ! -e /tests/x && bash /tests/check.sh\n"})
    async with await World.create(Scenario.load(folder)) as world:
        world.add_tools([RUN])
        await world.step(ToolCall("bash", {"command": plants}))
        (result,) = await check_goals(world)
        assert (result.met, result.goal) == (False, "$ bash /logs/judge")


@pytest.mark.parametrize(
    ("test", "met"),
    [
        ("exit 0\n", True),
        ("exit 3\n", False),
        ("echo '{\"reward\": 1.0}' > /logs/verifier/reward.json; exit 1\n", True),
        ("echo 0.5 > /logs/verifier/reward.txt\n", False),
        ("echo 1.0 > /logs/verifier/reward.txt; exit 1\n", True),
    ],
)
async def test_a_reward_counts_more_than_an_exit_code(task: Task, test: str, met: bool) -> None:
    async with await World.create(Scenario.load(task(**{"tests/test.sh": test}))) as world:
        assert [result.met for result in await check_goals(world)] == [met]


async def test_an_older_task_is_read_too(tmp_path: Path) -> None:
    texts = {
        "task.yaml": "instruction: |-\n  Write hello.txt.\nmax_test_timeout_sec: 45\n",
        "Dockerfile": "FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:latest\nWORKDIR /app\n",
        "docker-compose.yaml": "services: {client: {build: .}}\n",
        "run-tests.sh": 'bash "$TEST_DIR/check.sh"\n',
        "tests/check.sh": "grep -q hello hello.txt\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path)
    assert (scenario.instruction, scenario.limits.wall_seconds) == ("Write hello.txt.", 45)
    async with await World.create(scenario) as world:
        world.add_tools([RUN])
        assert not (await check_goals(world))[0].met
        await world.step(ToolCall("bash", {"command": "echo hello > hello.txt"}))
        assert (await check_goals(world))[0].met


@pytest.mark.parametrize(
    ("dockerfile", "files", "said"),
    [
        ("FROM node:22\n", {}, "Dockerfile:1: the image 'node:22' is not known"),
        ("FROM python:3.12-alpine\n", {}, "is not known here"),
        ("FROM debian AS a\nFROM debian\n", {}, "Dockerfile:2: a second FROM"),
        ("FROM debian\nONBUILD RUN true\n", {}, "Dockerfile:2: ONBUILD has no counterpart"),
        ("FROM debian\nCOPY --from=x /a /b\n", {}, "only files of the task's folder"),
        ("FROM debian\nADD https://example.com/x /x\n", {}, "only files of the task's folder"),
        ("FROM debian\nCOPY dota.txt /x\n", {}, "'dota.txt' is not in"),
        ("FROM debian\n\nRUN true && cmake ..\n", {}, "Dockerfile:3: RUN ended with 127"),
        ("RUN true\n", {}, "there is no FROM"),
        (
            "FROM debian\nRUN apt-get install -y gcc\n",
            {"instruction.md": "Compile it with gcc."},
            "it needs gcc, which the simulated machine does not have",
        ),
        ("FROM debian\n", {"task.toml": "[[steps]]\nname = 'a'\n"}, "several steps"),
        ("FROM debian\n", {"task.toml": "["}, "task.toml is not of the form of a task"),
        (
            "FROM debian\n",
            {"task.toml": "verifier = 3\n"},
            "task.toml is not of the form of a task",
        ),
        ("FROM debian\nCOPY 'x /y\n", {}, "Dockerfile:2: No closing quotation"),
        ("FROM debian\nWORKDIR\n", {}, "Dockerfile:2: WORKDIR says nothing"),
        (
            "FROM debian\n",
            {"environment/docker-compose.yaml": "services: {main: {}, db: {}}\n"},
            "2 services (main, db); a world is one machine",
        ),
    ],
)
def test_what_has_no_counterpart_is_refused(
    task: Task, dockerfile: str, files: dict[str, str], said: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario.load(task(dockerfile, **files))
    assert said in str(refused.value)


def test_a_task_without_its_tests_is_refused(task: Task) -> None:
    folder = task()
    (folder / "tests/test.sh").unlink()
    with pytest.raises(ScenarioError, match=r"test\.sh cannot be read"):
        Scenario.load(folder)
