"""What a model server's log says: how far the start is, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

PHASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), phase)
    for pattern, phase in (
        (r"Fetching \d+ files:\s+(?P<part>\d+)%", "downloading"),
        (r"Downloading|Time spent downloading", "downloading"),
        (r"checkpoint shards:\s+(?P<part>\d+)%", "loading weights"),
        (r"Starting to load model|Load weight begin", "loading weights"),
        (r"Loading weights took|Model loading took|Load weight end", "weights loaded"),
        (r"Dynamo bytecode|Compiling a graph|torch\.compile (?:takes|took)", "compiling"),
        (r"[Cc]aptur\w+ (?:CUDA|cuda) graph", "capturing CUDA graphs"),
        (r"KV [Cc]ache (?:size: (?P<tokens>[\d,]+)|is allocated.*#tokens: (?P<more>\d+))", "cache"),
        (r"Application startup complete|fired up and ready", "started"),
    )
)

HINTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (
            (
                r"larger than the (?:maximum number of tokens|available KV cache memory)|KV cache is"
                r" needed, which is larger"
            ),
            (
                "The context is too long for the memory left for its cache. Give a smaller"
                " --max-model-len (65536 is a good start), or `-- --kv-cache-dtype fp8`."
            ),
        ),
        (
            (
                r"[Oo]ut of memory|OutOfMemoryError|No available memory for the cache|"
                r"Free memory on device"
            ),
            (
                "The GPU memory does not suffice. Stop what else uses the cards, give"
                " --tensor-parallel-size, a smaller --max-model-len, or quantised weights."
            ),
        ),
        (
            r"unrecognized arguments|invalid choice|expected one argument",
            (
                "This version of the server does not know one of the flags; the line above names it."
                " Update the server, or correct what follows `--`."
            ),
        ),
        (
            r"not initialized from checkpoint: \{'visual|vision weights",
            (
                "The config declares a vision part that the weights do not have. Give"
                " `-- --language-model-only`."
            ),
        ),
        (r"[Aa]ddress already in use", "The port is in use. Choose another with --port."),
        (
            (
                r"No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so|"
                r"Failed to infer device type|Torch not compiled with CUDA"
            ),
            (
                "The server finds no usable GPU. Check that `nvidia-smi` works where it runs, and that"
                " CUDA_VISIBLE_DEVICES names a card."
            ),
        ),
        (
            r"GatedRepoError|401 Client Error|RepositoryNotFoundError",
            "The hub has no such model, or it wants a login. Check the name, and set HF_TOKEN.",
        ),
        (
            (
                r"model type `?\S+`? but Transformers does not recognize|"
                r"Model architectures .* are not supported|no attribute 'Qwen3_5"
            ),
            (
                "This version of the server does not know the model's class. Update it; qwen3_5_moe"
                " wants a release of 2026."
            ),
        ),
        (
            r"No space left on device",
            "The disk is full. Set HF_HOME to a folder on a larger one.",
        ),
    )
)


def phase_of(line: str) -> str | None:
    """How far the start is by this line, in words; `None` if it does not say."""
    for pattern, phase in PHASES:
        match = pattern.search(line)
        if match is None:
            continue
        found = match.groupdict()
        if part := found.get("part"):
            return f"{phase} {part} %"
        if tokens := found.get("tokens") or found.get("more"):
            return f"cache for {int(tokens.replace(',', '')):,} tokens"
        return phase
    return None


def hint_for(lines: Iterable[str]) -> str | None:
    """What to do about the cause these lines name; `None` if it is not a known one."""
    text = "\n".join(lines)
    return next((hint for pattern, hint in HINTS if pattern.search(text)), None)
