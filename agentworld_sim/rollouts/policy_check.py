"""Does a model server have the weights that the trainer thinks it has?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentworld_sim.errors import UsageError, WorldFailure


class TellsLogprobs(Protocol):
    """A policy that says what its weights make of given tokens; `HttpPolicy` does."""

    async def prompt_logprobs(self, ids: Sequence[int]) -> tuple[float, ...]: ...


class PolicyDrifted(WorldFailure):
    """The server samples with other weights than the trainer's."""


async def verify_policy(
    policy: TellsLogprobs,
    probe_ids: Sequence[int],
    trainer_logprobs: Sequence[float],
    tolerance: float = 1e-3,
) -> float:
    """Compares the server's log-probabilities of a fixed probe with the trainer's.

    Call it after every weight sync: a reload can go wrong without a word (vLLM 0.32 on a CPU answers
    0.3 to 0.8 nat off after `reload_weights`, and reports success).

    The mean over the probe is compared. A single token says little: where a router chooses between experts
    that are nearly level, rounding alone moves one token by a whole nat.

    Args:
        policy: Asks the server.
        probe_ids: Any text that the model has an opinion on, at least two tokens.
        trainer_logprobs: The trainer's natural log-probability of every probe token but the first.
        tolerance: Largest mean of the absolute differences that is allowed, in nats. Equal weights in
            float32 differ by less than 1e-5; for a server in bfloat16 allow 0.15.

    Returns:
        The mean of the absolute differences, in nats.

    Raises:
        PolicyDrifted: it is larger than that, or not a number.
        ModelFailure: the server is down, or does not tell.
    """
    if len(probe_ids) < 2 or len(trainer_logprobs) != len(probe_ids) - 1:
        raise UsageError(
            f"a probe of {len(probe_ids)} tokens and {len(trainer_logprobs)} log-probabilities: at"
            " least two tokens are wanted, and one log-probability for each but the first."
        )
    served = await policy.prompt_logprobs(probe_ids)
    differences = [abs(a - b) for a, b in zip(served, trainer_logprobs, strict=True)]
    mean = sum(differences) / len(differences)
    # Written so that not-a-number counts as drift.
    if not mean <= tolerance:
        raise PolicyDrifted(
            f"the served weights are not the trainer's: the {len(differences)} tokens of the probe differ"
            f" by {mean:.3g} nat on the mean (allowed: {tolerance:g}). Nothing more is sampled from"
            " them. Restart the server with the latest checkpoint, then resume."
        )
    return mean
