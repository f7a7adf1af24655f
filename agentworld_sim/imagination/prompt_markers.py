"""Text of the world, made harmless for chat templates and tokenizers.

The tokens are interface facts of the models' published tokenizers and chat templates: ChatML (Qwen),
Llama 3, Phi, GLM and Command R write `<|…|>`, DeepSeek the same with wide bars, Gemma
`<start_of_turn>`, Mistral `[INST]` and `</s>`.
"""

from __future__ import annotations

import re
from typing import Any, cast

_CONTROL = re.compile(
    r"<(?=[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]>|/?think>|(?:start|end)_of_turn>|/s>|[be]os>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|THINK)\])"
)
"""Where a token of a chat template, or of the thinking, would begin."""


_HIDING = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Characters without a width, and those that turn the direction of writing: they show a person another
text than a model reads. (Unicode 16, general category Cf.)"""

LONGEST_DESCRIPTION = 4000
"""Characters of one text in a tool's definition; the middle of a longer one is left out."""


def described(value: Any) -> Any:
    """A tool's definition as a model may be told it: nothing hidden in its texts, and none too long.

    Args:
        value: JSON of whoever wrote the tool, who is not trusted.
    """
    if isinstance(value, str):
        text = _HIDING.sub("", value)
        half = LONGEST_DESCRIPTION // 2
        cut = len(text) - 2 * half
        return text if cut <= 0 else f"{text[:half]} [… {cut} characters …] {text[-half:]}"
    if isinstance(value, dict):
        return {key: described(one) for key, one in cast("dict[str, Any]", value).items()}
    return (
        [described(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
    )


def harmless(text: str) -> str:
    """`text` without anything that a chat template or a tokenizer would take for its own.

    What an agent, a tool's description or a file says must not end a message or begin another.
    """
    return _CONTROL.sub(r"\g<0> ", text)
