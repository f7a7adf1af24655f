"""What training raises beside the errors of `agentworld_sim.errors`."""

from __future__ import annotations

from agentworld_sim.errors import UsageError, WorldFailure


class CheckpointFailed(WorldFailure):
    """A checkpoint could not be written. Nothing of it is left; earlier ones are untouched."""


class CheckpointDamaged(UsageError):
    """A checkpoint cannot be read. Nothing was changed; the message says what is left to go on from."""


class TrainingDiverged(WorldFailure):
    """The loss or the gradient is no number. The weights were not changed by it."""
