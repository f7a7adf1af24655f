"""A tokenizer of bytes with a ChatML template: what the engine needs of one, without transformers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_PIECES = re.compile("|".join(map(re.escape, _SPECIAL)))


class ByteTokenizer:
    """Implements `ChatTokenizer`: a token is a byte or a special token. Tools are not shown."""

    all_special_ids = (256, 257, 258)
    eos_token_id = 258

    def apply_chat_template(self, conversation: Any, **options: Any) -> str:
        text = "".join(
            f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n"
            for message in conversation
        )
        return text + ("<|im_start|>assistant\n" if options["add_generation_prompt"] else "")

    def encode(self, text: str, **options: Any) -> list[int]:
        ids: list[int] = []
        end = 0
        for found in _PIECES.finditer(text):
            ids += text[end : found.start()].encode()
            ids.append(256 + _SPECIAL.index(found[0]))
            end = found.end()
        return ids + list(text[end:].encode())

    def decode(self, token_ids: Iterable[int], **options: Any) -> str:
        data = b"".join(
            bytes([one]) if one < 256 else _SPECIAL[one - 256].encode() for one in token_ids
        )
        return data.decode("utf-8", "replace")
