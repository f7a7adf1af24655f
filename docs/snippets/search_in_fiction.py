from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel, simulate
from agentworld_sim import Scenario


@tool
def internet_search(query: str, max_results: int = 5, topic: str = "general") -> dict[str, Any]:
    """Searches the web."""
    raise RuntimeError("here the real one would ask Tavily")


scenario = Scenario.parse("{name: makers, domains: [search], fiction: {family: products}}")
search = simulate(internet_search, scenario=scenario)

call = {"name": "internet_search", "args": {"query": "product price"}, "id": "1"}
script = [AIMessage("", tool_calls=[{**call, "type": "tool_call"}]), "Let me open the first one."]
agent = create_agent(ScriptedChatModel(script=script), [search])
said = agent.invoke({"messages": [("user", "What do products cost?")]})["messages"]
print(said[-2].text[:300])
print([result["title"] for result in search.invoke({"query": "product price"})["results"]])
