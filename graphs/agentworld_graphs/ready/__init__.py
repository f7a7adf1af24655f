"""Graphs that are ready to be served: `langgraph dev`, or a `langgraph.json` of your own.

Each module is one graph and has it as `graph`; `build(Agent(…))` makes the same for your own agent. They are
meant to be read, and copied from.

| module | what it shows |
|---|---|
| `react` | an ordinary agent, at work in a simulated world |
| `predict_then_act` | what each alternative would lead to is tried on forks, before one is chosen |
| `rehearse` | a destructive call is shown to a person before it happens |
| `research` | an agent plans, searches a fictional internet, opens pages and collects a table |
| `red_team` | the same agent again and again, while its world misbehaves |

None needs a key or a network: by default the agent follows a script, and the world computes.
"""

from __future__ import annotations

from agentworld_sim.extras import require

require("langgraph", extra="graphs")

from agentworld_graphs.ready._agent import Agent, Settings

__all__ = ["Agent", "Settings"]
