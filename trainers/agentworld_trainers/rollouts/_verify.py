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

    Args:
        policy: Asks the server.
        probe_ids: Any text that the model has an opinion on, at least two tokens.
        trainer_logprobs: The trainer's natural log-probability of every probe token but the first.
        tolerance: Largest difference that is allowed, in nats. Equal weights in float32 differ by
            less than 1e-5; in bfloat16 allow about 0.1.

    Returns:
        The largest difference, in nats.

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
    worst = max(differences)
    # Written so that not-a-number counts as drift; `max` may pass it by.
    if not all(difference <= tolerance for difference in differences):
        place = next(n for n, one in enumerate(differences) if not one <= tolerance)
        raise PolicyDrifted(
            f"the served weights are not the trainer's: token {place + 1} of the probe differs by"
            f" {differences[place]:.3g} nat (allowed: {tolerance:g}). Nothing more is sampled from"
            " them. Restart the server with the latest checkpoint, then resume."
        )
    return worst
