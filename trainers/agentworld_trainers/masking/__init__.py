"""Turn-level loss masking: how much of each observation stays in the loss of continued pre-training."""
