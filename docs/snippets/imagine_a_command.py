import asyncio
import json

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer


def program(request: ModelRequest) -> str:
    """What a model might say of Go's programs: output, exit code, changes to files."""
    if "$ go mod init" in request.last_user:
        module = {"kind": "write", "path": "go.mod", "content": "module notes\n"}
        told = {"stderr": "go: creating new go.mod: module notes\n", "operations": [module]}
    else:
        told = {"stdout": "main.go\nnotes.go\n", "operations": []}
    return json.dumps({"stdout": "", "stderr": "", "exit_code": 0, **told})


async def main(url: str) -> None:
    async with await World.create(model=url) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])

        async def run(command: str) -> None:
            turn = await world.step(ToolCall("run", {"command": command}))
            asked = [" ".join(answer.argv) for answer in turn.inner]
            print(f"{turn.observation.text.strip()!r} {turn.observation.provenance} {asked}")

        await run("echo package  main | tee main.go > notes.go; go mod init notes 2>&1; cat go.mod")
        await run("for name in $(gofmt -l .); do wc -c $name; done")
        await run("gofmt -l . | wc -l")


# Your model's URL goes here. This server says what it is told to.
with ScriptedModelServer(program) as server:
    asyncio.run(main(server.url))
    print(len(server.requests), "requests")
