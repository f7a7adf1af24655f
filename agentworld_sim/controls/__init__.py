"""Controls: perturbations enforced in code, before or after an engine answers.

One file per kind of control; `_base.py` holds what they have in common.
"""

from agentworld_sim.controls._base import Control, ControlInput, Enforced
from agentworld_sim.controls._fault import Fault

__all__ = ["Control", "ControlInput", "Enforced", "Fault"]
