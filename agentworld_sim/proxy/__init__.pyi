from .model_faults import (
    FaultSchedule as FaultSchedule,
    ModelFault as ModelFault,
    ModelFaultKind as ModelFaultKind,
)
from .model_proxy import model_proxy as model_proxy
