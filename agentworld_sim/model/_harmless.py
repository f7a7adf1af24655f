"""Text of the world, made harmless for chat templates and tokenizers.

The tokens are interface facts of the models' published tokenizers and chat templates: ChatML (Qwen),
Llama 3, Phi, GLM and Command R write `<|…|>`, DeepSeek the same with wide bars, Gemma
`<start_of_turn>`, Mistral `[INST]` and `</s>`.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"<(?=[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]>|/?think>|(?:start|end)_of_turn>|/s>|[be]os>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|THINK)\])"
)
"""Where a token of a chat template, or of the thinking, would begin."""


def harmless(text: str) -> str:
    """`text` without anything that a chat template or a tokenizer would take for its own.

    What an agent, a tool's description or a file says must not end a message or begin another.
    """
    return _CONTROL.sub(r"\g<0> ", text)
