from .fault_handler import FaultHandler as FaultHandler
from .model_calls import (
    ForwardCall as ForwardCall,
    ModelCall as ModelCall,
    ModelCallHandler as ModelCallHandler,
    ModelReply as ModelReply,
    ReplyCut as ReplyCut,
)
from .model_faults import (
    FaultSchedule as FaultSchedule,
    ModelFault as ModelFault,
    ModelFaultKind as ModelFaultKind,
)
from .proxy_app import ModelProxy as ModelProxy
