"""What training raises beside the errors of `agentworld_sim.errors`."""

from __future__ import annotations

from agentworld_sim.errors import WorldFailure


class CheckpointFailed(WorldFailure):
    """A checkpoint could not be written. Nothing of it is left; earlier ones are untouched."""


class TrainingDiverged(WorldFailure):
    """The loss or the gradient is no number. The weights were not changed by it."""


class RolloutFailed(WorldFailure):
    """Not one episode of a rollout batch could be played: the infrastructure is down."""
