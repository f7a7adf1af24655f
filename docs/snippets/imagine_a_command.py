import asyncio
import json

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer


def program(request: ModelRequest) -> str:
    """What a model might say of `git`: output, exit code, changes to files."""
    if "$ git init" in request.last_user:
        head = {"kind": "write", "path": ".git/HEAD", "content": "ref: refs/heads/main\n"}
        told = {"stdout": "Initialized empty Git repository\n", "operations": [head]}
    else:
        told = {"stdout": "?? notes.txt\n?? todo.txt\n", "operations": []}
    return json.dumps({"stderr": "", "exit_code": 0, **told})


async def main(url: str) -> None:
    async with await World.create(model=url) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])

        async def run(command: str) -> None:
            turn = await world.step(ToolCall("run", {"command": command}))
            asked = [" ".join(answer.argv) for answer in turn.inner]
            print(f"{turn.observation.text.strip()!r} {turn.observation.provenance} {asked}")

        await run("echo hi > notes.txt; echo hi > todo.txt; git init --quiet; cat .git/HEAD")
        await run("for name in $(git status --short | cut -c4-); do wc -c $name; done")
        await run("git status --short | wc -l")


# Your model's URL goes here. This server says what it is told to.
with ScriptedModelServer(program) as server:
    asyncio.run(main(server.url))
    print(len(server.requests), "requests")
