from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware

from agentworld_graphs import ModelCallFaults, ScriptedChatModel
from agentworld_sim.proxy import FaultSchedule, ModelFault

faults = FaultSchedule(
    [ModelFault(kind="rate-limit", nth=(1,)), ModelFault(kind="refusal", nth=(3,))]
)
agent = create_agent(
    ScriptedChatModel(script=["Paris."]),
    middleware=[ModelRetryMiddleware(initial_delay=0.0, jitter=False), ModelCallFaults(faults)],
)
for _ in range(2):
    said = agent.invoke({"messages": [("user", "What is the capital of France?")]})
    print(said["messages"][-1].text)
print(dict(faults.struck))
