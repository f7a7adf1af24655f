"""The state of a deep agent that carries the ref."""

from __future__ import annotations

from deepagents import DeepAgentState

from agentworld_graphs._refs import SimState


class SimDeepAgentState(DeepAgentState, SimState):
    """A deep agent's state with the channel `sim_ref`: `create_deep_agent(state_schema=…)`.

    deepagents gives it to every subagent that it builds itself, so one ref goes through all of them.
    A subagent that is given as a compiled graph needs the channel only for going back within itself.
    """
