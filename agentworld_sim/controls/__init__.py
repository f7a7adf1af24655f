"""Controls: perturbations enforced in code, as middleware around the answering of calls.

One file per kind of control; `agentworld_sim/ports/steps.py` holds what all controls have in common,
`selective_control.py` what those have that strike some of the calls, `control_list.py` their names in scenarios and
which of them hold in a state.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
