"""Turn-level loss masking: how much of each observation stays in the loss of continued pre-training."""

from agentworld_trainers.masking._mask import (
    CATEGORIES,
    Category,
    MaskSettings,
    TurnMask,
    mask_turn,
)
from agentworld_trainers.masking._report import MaskReport

__all__ = ["CATEGORIES", "Category", "MaskReport", "MaskSettings", "TurnMask", "mask_turn"]
