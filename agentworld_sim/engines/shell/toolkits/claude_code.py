"""The tools of Claude Code."""

from agentworld_sim.engines.shell._bindings import Binding

BINDINGS: tuple[Binding, ...] = ()
