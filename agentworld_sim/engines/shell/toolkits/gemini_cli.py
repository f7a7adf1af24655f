"""The tools of Gemini CLI and Qwen Code."""

from agentworld_sim.engines.shell._bindings import Binding

BINDINGS: tuple[Binding, ...] = ()
