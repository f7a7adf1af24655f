"""Asks WebArena-Verified's own evaluator about network logs. Run by the Python of its own environment.

python evaluate.py FOLDER    of FOLDER/TASK/NAME.har; prints {task: {name: verdict}} as JSON.
"""

import contextlib
import io
import json
import logging
import sys
from pathlib import Path

from webarena_verified.api import WebArenaVerified
from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
from webarena_verified.types.task import WebArenaSite

logging.disable(logging.CRITICAL)
site = EnvironmentConfig(urls=["http://forum.test"], active_url_idx=0)
said = {"task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None, "error_details": None}
found = {}
with contextlib.redirect_stdout(io.StringIO()):
    judge = WebArenaVerified(config=WebArenaVerifiedConfig(environments={WebArenaSite.REDDIT: site}))
    for log in sorted(Path(sys.argv[1]).glob("*/*.har")):
        result = judge.evaluate_task(task_id=int(log.parent.name), agent_response=said, network_trace=log)
        found.setdefault(log.parent.name, {})[log.stem] = result.status.value
print(json.dumps(found))
