from .prompt_set import PromptSet as PromptSet
from .usage import (
    WorldUsage as WorldUsage,
    usage_of as usage_of,
)
from .world_model import WorldModel as WorldModel
