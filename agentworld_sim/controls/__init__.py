"""Controls: perturbations enforced in code, as middleware around the answering of calls.

One file per kind of control; `agentworld_sim/ports/steps.py` holds what they have in common,
`control_list.py` their names in scenarios and which of them hold in a state.
"""

from agentworld_sim.controls._fault import Fault, failure_of
from agentworld_sim.controls.control_list import control_kinds
from agentworld_sim.ports import Control, Next, StepContext
from agentworld_sim.ports.steps import control_values

__all__ = [
    "Control",
    "Fault",
    "Next",
    "StepContext",
    "control_kinds",
    "control_values",
    "failure_of",
]
