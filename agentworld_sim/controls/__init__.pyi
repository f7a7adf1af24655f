from .control_list import control_kinds as control_kinds
from .fault import Fault as Fault
from .selective_control import (
    Control as Control,
    Next as Next,
    Quadrant as Quadrant,
    SelectiveControl as SelectiveControl,
    StepContext as StepContext,
    control_values as control_values,
    controls_in as controls_in,
    failure_of as failure_of,
    has_effect as has_effect,
)
