"""`ScriptedPolicy`: a policy for tests that says what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentworld_sim.rollouts.policy import Completion
from agentworld_sim.rollouts.turn_tokens import ChatTokenizer, TurnTokens

Script = Callable[[str, int], str]
"""Says what to write: given the prompt as text, and the seed of the turn."""


class ScriptedPolicy:
    """Writes scripted texts. The log-probability of every token is 0: it is certain of each."""

    def __init__(
        self, tokenizer: ChatTokenizer, script: Script | Sequence[str], *, version: int = 0
    ) -> None:
        """
        Args:
            tokenizer: Makes tokens of the texts; its end of turn follows each.
            script: A function, or the texts of the turns; the last one is said again in every turn
                after it.
            version: Of the completions.
        """
        self._tokenizer = tokenizer
        tokens = TurnTokens(tokenizer)
        self._end = tokens.stop_ids[0]
        self._script = script if callable(script) else _by_turn(tuple(script), tokens.begin)
        self._version = version

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        prompt = str(self._tokenizer.decode(list(prompt_ids), skip_special_tokens=False))
        text = self._script(prompt, seed)
        ids = (*self._tokenizer.encode(text, add_special_tokens=False), self._end)
        cut = len(ids) > max_tokens
        ids = ids[:max_tokens]
        return Completion(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            finish="length" if cut else "stop",
            version=self._version,
        )


def _by_turn(texts: tuple[str, ...], begin: str) -> Script:
    def script(prompt: str, seed: int) -> str:
        # Every turn of the policy, also the one that is asked for, has its beginning in the prompt.
        turn = prompt.count(begin)
        return texts[min(max(turn, 1), len(texts)) - 1]

    return script
