from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel, simulate_graph
from agentworld_sim import Scenario
from agentworld_sim.fiction.answer_scores import score_answer


@tool
def tavily_search(query: str) -> str:
    """Search the web."""
    raise AssertionError("no search service is asked")


# The agent that you have: your model instead of the script, TavilySearch() instead of the tool.
model = ScriptedChatModel(
    script=[
        AIMessage(
            "", tool_calls=[{"name": "tavily_search", "args": {"query": "makers"}, "id": "1"}]
        ),
        AIMessage(
            "| Maker | Founded | Employees |\n|---|---|---|\n| Lumuzeta | 1970 | 5000 |",
        ),
    ]
)
agent = create_agent(model, tools=[tavily_search])

# Three lines.
scenario = Scenario.load("fictional-web")
simulated = simulate_graph(agent, scenario=scenario)
state = simulated.invoke({"messages": [("user", scenario.instruction)]})

print(state["messages"][2].text[:500])
(goal,) = scenario.goals
print(score_answer(goal.gold(), state["messages"][-1].text))
