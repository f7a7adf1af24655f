"""Look at a model server from outside: is it set up as a language world model needs it?"""

from agentworld_sim.serving.doctor._diagnosis import diagnose
from agentworld_sim.serving.doctor._findings import Diagnosis, Finding, Verdict

__all__ = ["Diagnosis", "Finding", "Verdict", "diagnose"]
