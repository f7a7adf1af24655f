"""What tau2's own evaluation says of tasks that were done with simulated tools: `python tau2_rewards.py DOMAIN`, in its
environment. A line of standard input is a task, with its calls and what the simulation answered; a line of output is
the reward. The evaluation makes the calls again on the domain's own code, fails at an answer that is not the code's,
and rates the last state."""

# tau2 is not in the environment that is type-checked.
# pyright: basic, reportMissingImports=false

import importlib
import json
import sys

from tau2.data_model.message import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tau2.evaluator.evaluator_env import EnvironmentEvaluator

domain = importlib.import_module(f"tau2.domains.{sys.argv[1]}.environment")
agents = domain.get_environment().tools.tools
tasks = {one.id.replace("_", "-"): one for one in domain.get_tasks()}
for line in sys.stdin:
    task, calls = json.loads(line)
    messages = []
    for name, arguments, text in calls:
        who, kind = ("assistant", AssistantMessage) if name in agents else ("user", UserMessage)
        call = ToolCall(name=name, arguments=arguments, requestor=who)
        messages.append(kind(role=who, tool_calls=[call]))
        messages.append(ToolMessage(id=call.id, content=text, requestor=who, role="tool"))
    said = EnvironmentEvaluator.calculate_reward(domain.get_environment, tasks[task], messages)
    sys.stdout.write(f"{said.reward}\n")
