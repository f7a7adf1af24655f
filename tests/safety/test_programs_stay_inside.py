"""A program compiled to WebAssembly reaches the world's files, and nothing of the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World

ESCAPES = """
import os, sys
secret = sys.argv[1]
ways = ["", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/..", "/..", "/../../..", "/tmp/../..", "/dev/..",
        "/dev/fd/..", "/tmp/absent/../.."]
looks = [lambda p: open(p).read(), lambda p: open(p, "w").write("changed"), os.stat, os.listdir]
os.symlink(secret, "/tmp/straight")
os.symlink("../../../../.." + secret, "/tmp/up")
os.symlink("/proc/self/root" + secret, "/tmp/round")
for path in [*(way + secret for way in ways), "/tmp/straight", "/tmp/up", "/tmp/round"]:
    for look in looks:
        try:
            print("REACHED", path, look(path))
        except OSError:
            pass
try:
    import socket
    socket.create_connection(("127.0.0.1", 1))
    print("REACHED a socket")
except (ImportError, OSError):
    pass
print([name for name in os.environ if name.startswith("HOST_")], os.getuid(), sorted(os.listdir("/home")))
"""


@pytest.mark.promise("programs-inside")
async def test_a_program_reaches_nothing_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_SECRET", "x")
    secret = tmp_path / "secret"
    secret.write_text("host")
    async with await World.create(Scenario(name="machine", domains=("terminal",))) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        script = f"cat > e.py <<'END'\n{ESCAPES}END\npython3 e.py {secret}"
        seen = (await world.step(ToolCall("run", {"command": script}))).observation.structured
    assert (seen["stdout"], seen["stderr"]) == ("[] 0 []\n", "")
    assert secret.read_text() == "host"
