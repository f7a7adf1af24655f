from pathlib import PurePosixPath

from agentworld_sim.engines.shell import CommandCall, CommandResult, known_programs


def stamp(call: CommandCall) -> CommandResult:
    """`stamp FILE`: writes the world's time and standard input to a file."""
    if len(call.argv) != 1:
        return CommandResult(stderr="usage: stamp FILE\n", exit_code=2)
    path = str(PurePosixPath(call.cwd) / call.argv[0])
    seconds = call.clock.now_us() // 1_000_000
    try:
        call.files.write(path, f"{seconds} ".encode() + call.read_stdin())
    except OSError as error:
        return CommandResult(stderr=f"stamp: {call.argv[0]}: {error.strerror}\n", exit_code=1)
    return CommandResult(f"wrote {path}\n")


if __name__ == "__main__":
    print("what a scenario can name:", *known_programs.names())
