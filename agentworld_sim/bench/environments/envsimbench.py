"""Rows of EnvSimBench (arXiv 2605.07247, MIT) as transitions: `python envsimbench.py FILE...`.

Their form is read from the scripts of its repository: a JSON array; `step_detail` has the configuration before and
after a call, the call and its observation, `env_code` the class that answers, which a model is told and nobody runs.
"""

import json
import sys
from pathlib import Path

from state_tables import Tables, changes, write_line


def main(files):
    for file in files:
        for number, row in enumerate(json.loads(file.read_text("utf-8")), 1):
            try:
                convert(f"{file.stem} {number}", row)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                sys.exit(
                    f"{file}: row {number} is none of EnvSimBench: {type(error).__name__} {error}."
                )


def convert(name, row):
    step = row["step_detail"]
    call, said = step["action"], step["observation"]
    said = said["content"] if isinstance(said, dict) and "content" in said else said
    value, arguments = parse(said), parse(call.get("arguments") or {})
    states = [step["config_before"], step["config_after"]]
    tables = Tables(states)
    before, after = map(tables.of, states)
    # One side for all rows of an environment.
    task = f"{name}_{str(row['task_info']['env_id']).replace('_', '-')}"
    write_line({"tool": {"name": call["name"], "inputSchema": {"type": "object"}}, "api": task})
    write_line({"state": task, "tables": before})
    write_line({
        "source": "EnvSimBench", "task": task, "apis": [task], "keys": tables.keys,
        "initial": task, "instruction": row.get("env_code") or "",
        "turns": [{
            "name": call["name"], "arguments": dict(arguments), "by_chance": [], "probe": False,
            "text": said if isinstance(said, str) else json.dumps(said, ensure_ascii=False),
            "is_error": isinstance(value, dict) and value.get("success") is False,
            "changes": changes(before, after),
        }],
    })  # fmt: skip


def parse(value):
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


if __name__ == "__main__":
    main(list(map(Path, sys.argv[1:])))
