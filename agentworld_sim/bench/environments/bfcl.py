"""Plays the multi-turn tasks of the Berkeley Function-Calling Leaderboard, version 4, against their own backends.

Runs in an environment that has `bfcl-eval` (Apache-2.0): `python bfcl.py SEED PROBES`. The tasks, their right calls and
the code that answers them are the package's.
"""

import ast
import copy
import importlib
import inspect
import json
import random
import sys
from importlib import metadata
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)
from state_tables import Tables, changes, unlike_scalars, write_line, write_state

DATA = Path(bfcl_eval.__file__).parent / "data"
SPLITS = ("base", "long_context")
"""Those whose tasks are whole; the others leave out a function or an argument of the same tasks."""

TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def main(seed, probes):
    chance = random.Random(seed)
    for api, file in MULTI_TURN_FUNC_DOC_FILE_MAPPING.items():
        if api not in CLASS_FILE_PATH_MAPPING or api.startswith(("Memory", "WebSearch")):
            continue
        for line in (DATA / "multi_turn_func_doc" / file).read_text("utf-8").splitlines():
            write_line({"tool": tool(json.loads(line)), "api": api})
    version, written = metadata.version("bfcl-eval"), set()
    for split in SPLITS:
        name = f"BFCL_v4_multi_turn_{split}.json"
        right = {one["id"]: one["ground_truth"] for one in lines(DATA / "possible_answer" / name)}
        for row in lines(DATA / name):
            played = play(
                row, right[row["id"]], chance, probes, long_context=split == "long_context"
            )
            played["initial"] = write_state(played["initial"], written)
            write_line({"source": f"bfcl-eval {version}", "task": row["id"]} | played)


def play(row, right, chance, probes, *, long_context):
    """One session: its first state, and every call with what came of it."""
    backends = {
        name: backend(name, row["initial_config"], long_context) for name in row["involved_classes"]
    }
    calls = [parse(text, backends) for part in right for text in part]
    states, turns = [state_of(backends)], []
    for place, (api, name, arguments) in enumerate(calls):
        tried = [(api, name, arguments, False)]
        if chance.random() < probes:
            tried.insert(0, (api, name, vary(arguments, calls, place, chance), True))
        for api, name, given, probe in tried:
            twins = copy.deepcopy(backends)
            for twin in twins.values():
                if hasattr(twin, "_random"):
                    twin._random = random.Random(chance.random())
            text, failed = call(backends[api], name, given)
            other, _ = call(twins[api], name, given)
            states.append(state_of(backends))
            by_chance = unlike_scalars(
                [parse_json(text), states[-1]], [parse_json(other), state_of(twins)]
            )
            turns.append({
                "name": name, "arguments": given, "text": text, "is_error": failed,
                "by_chance": sorted(set(by_chance)), "probe": probe,
            })  # fmt: skip
    tables = Tables(states)
    held = [tables.of(state) for state in states]
    for turn, before, after in zip(turns, held, held[1:]):
        turn["changes"] = changes(before, after)
    return {"apis": list(backends), "keys": tables.keys, "initial": held[0], "turns": turns}


def backend(name, config, long_context):
    made = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)()
    if name not in STATELESS_CLASSES:
        made._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long_context)
    return made


def parse(text, backends):
    """The call that `name(argument=…)` is. The texts are the package's own; they are read, never evaluated."""
    node = ast.parse(text, mode="eval").body
    api = next(one for one, made in backends.items() if hasattr(made, node.func.id))
    names = list(inspect.signature(getattr(backends[api], node.func.id)).parameters)
    given = dict(zip(names, node.args)) | {one.arg: one.value for one in node.keywords}
    return api, node.func.id, {name: ast.literal_eval(value) for name, value in given.items()}


def call(made, name, arguments):
    try:
        value = getattr(made, name)(**copy.deepcopy(arguments))
    except Exception as error:
        return f"Error during execution: {error}", True
    return value if isinstance(value, str) else json.dumps(value, default=str), False


def vary(arguments, calls, place, chance):
    """The same arguments with one that belongs to another call, or that nothing has."""
    if not arguments:
        return arguments
    name = chance.choice(sorted(arguments))
    value = arguments[name]
    others = [
        given[name]
        for _, _, given in calls
        if name in given and type(given[name]) is type(value) and given[name] != value
    ]
    if others and chance.random() < 0.5:
        return {**arguments, name: chance.choice(others)}
    if isinstance(value, bool):
        return {**arguments, name: not value}
    if isinstance(value, (int, float)):
        return {**arguments, name: value + 1000 + place}
    return {**arguments, name: value[:-1] if isinstance(value, list) else "unknown"}


def state_of(backends):
    state = {}
    for api, made in backends.items():
        for name, value in vars(made).items():
            if name == "root" and hasattr(value, "contents"):
                state[f"{api}.files"] = files(value, f"/{value.name}")
            elif name == "_current_dir":
                state[f"{api}.working_directory"] = path_of(value)
            elif not name.startswith("_"):
                state[f"{api}.{name}"] = json.loads(json.dumps(value, default=str))
    return state


def files(folder, path):
    found = {path: {"path": path, "type": "directory"}}
    for name, entry in folder.contents.items():
        inner = f"{path}/{name}"
        if hasattr(entry, "contents"):
            found |= files(entry, inner)
        else:
            found[inner] = {"path": inner, "type": "file", "content": entry.content}
    return found


def path_of(folder):
    return (path_of(folder.parent) if folder.parent else "") + f"/{folder.name}"


def tool(doc):
    return {
        "name": doc["name"],
        "description": doc["description"],
        "inputSchema": schema(doc["parameters"]),
    }


def schema(value):
    """A schema of the package as JSON Schema: it names its types as Python does."""
    if isinstance(value, list):
        return [schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: schema(one) for key, one in value.items()}
    kind = value.get("type")
    if isinstance(kind, str):
        found["type"] = TYPES.get(kind, kind)
        if found["type"] is None:
            del found["type"]
    return found


def parse_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
