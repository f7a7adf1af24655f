"""Asks WebArena-Verified's own evaluator about network logs. Run by the Python of its own environment.

python evaluate.py FOLDER    of FOLDER/TASK/NAME.har; prints {task: {name: verdict}} as JSON.
"""

import contextlib
import io
import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

api: Any = import_module("webarena_verified.api")
config: Any = import_module("webarena_verified.types.config")
task: Any = import_module("webarena_verified.types.task")

logging.disable(logging.CRITICAL)
sites = {
    getattr(task.WebArenaSite, theirs): config.EnvironmentConfig(
        urls=[f"http://{ours}.test"], active_url_idx=0
    )
    for theirs, ours in (("REDDIT", "forum"), ("SHOPPING", "shop"), ("GITLAB", "tracker"))
}
said = {"task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None, "error_details": None}
found: dict[str, dict[str, str]] = {}
with contextlib.redirect_stdout(io.StringIO()):
    judge = api.WebArenaVerified(config=config.WebArenaVerifiedConfig(environments=sites))
    for log in sorted(Path(sys.argv[1]).glob("*/*.har")):
        result = judge.evaluate_task(
            task_id=int(log.parent.name), agent_response=said, network_trace=log
        )
        found.setdefault(log.parent.name, {})[log.stem] = result.status.value
print(json.dumps(found))
