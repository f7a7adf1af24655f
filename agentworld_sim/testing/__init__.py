"""Conformance suites: what holds for every implementation of a seam, the library's own and a user's."""

from agentworld_sim.testing.control_suite import check_control
from agentworld_sim.testing.engine_suite import check_engine
from agentworld_sim.testing.program_suite import check_program

__all__ = ["check_control", "check_engine", "check_program"]
