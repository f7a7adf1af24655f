"""Makes the tiny Mixture-of-Experts model that the real vLLM serves in `make test-vllm`.

Run it with an interpreter that has torch and transformers: `python make_tiny_model.py FOLDER`.
It writes a `qwen3_moe` of 0.8 M parameters, a byte-level BPE tokenizer and a chat template. The model
is trained for well under a minute, on conversations that this file invents, until it answers in the
world model's form: a thought, then `<predicted_observation>…</predicted_observation>`, or a JSON
object where JSON was asked for. What it says is babble; the form is what the tests need.
"""

# torch and transformers are not in the environment that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast, Qwen3MoeConfig, Qwen3MoeForCausalLM

HERE = Path(__file__).resolve().parent
PROMPTS = HERE.parents[1] / "agentworld_sim" / "imagination" / "prompts" / "v1"
SEED = 20
VOCABULARY = 2048
STEPS = 240
BATCH_TOKENS = 3072
PEAK_RATE = 4e-3
SHARPNESS = 2.0
LENGTHS = (0, 300, 1500, None)
"""Characters of idle text in the system message, one after another; `None` is one of our own prompts."""
TURNS = (3, 8)
"""Most past turns after idle text, and after a prompt of ours."""
IGNORED = -100
"""The label that torch's cross entropy leaves out."""

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
NAMES = (
    "README.md notes.txt app.log main.py data.csv Makefile users.json setup.cfg run.sh todo".split()
)
WORDS = (
    "error warning ready listening on port started stopped user order total pending shipped alice bob "
    "build passed failed test file folder the of a is was in for with status active closed open count"
).split()
MARKS = "#*`{}[]()_/\\|<>=:,'\"0123456789\n"
TOOLS = "get_order list_users search_notes create_ticket send_message read_file write_file".split()
COMMANDS = (
    "cat {}",
    "ls -la",
    "git status",
    "kubectl get pods",
    "head -n 3 {}",
    "npm test",
    "wc -l {}",
)


def words(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(low, high)))


def action(rng: random.Random) -> str:
    """An action in the written form of a command in the shell, of the terminal or of a tool."""
    kind = rng.randrange(3)
    command = rng.choice(COMMANDS).format(rng.choice(NAMES)) if kind < 2 else ""
    if kind == 0:
        listing = "\n".join(f"-rw-r--r-- {rng.randint(0, 9999)} {name}" for name in NAMES[:3])
        return (
            f"$ {command}\n\nargv: {json.dumps(command.split())}\nworking directory: /srv\n"
            f'environment: {{"PATH":"/bin"}}\n\nls -lA of the working directory:\n{listing}'
        )
    if kind == 1:
        body: object = [{"keystrokes": command + "\n", "duration": 0.1}]
    else:
        body = {
            "name": rng.choice(TOOLS),
            "arguments": {"id": rng.randint(1, 99), "q": words(rng, 1, 3)},
        }
    return f"```json\n{json.dumps(body)}\n```"


def observation(rng: random.Random) -> str:
    return "\n".join(words(rng, 2, 8) for _ in range(rng.randint(1, 3)))


def json_value(rng: random.Random, depth: int) -> object:
    match rng.randrange(6 if depth else 4):
        case 0:
            return rng.randint(0, 255)
        case 1 | 2:
            return words(rng, 1, 4)
        case 3:
            return rng.choice((True, False, None, "", rng.choice(NAMES)))
        case 4:
            return [json_object(rng, depth - 1) for _ in range(rng.randint(0, 1))]
        case _:
            return [words(rng, 1, 2) for _ in range(rng.randint(0, 2))]


def json_object(rng: random.Random, depth: int) -> dict[str, object]:
    """Keys that the model cannot have learned by heart: a grammar will force others."""
    keys = ("_".join(rng.sample(WORDS, k=rng.randint(1, 2))) for _ in range(rng.randint(1, 3)))
    return {key: json_value(rng, depth) for key in keys}


def thought(rng: random.Random) -> str:
    return f"The step asks for {words(rng, 1, 4)}. The state says {words(rng, 2, 6)}."


def babble(rng: random.Random, prose: str, length: int) -> str:
    """Text that the model must not be thrown by: prose, shuffled prose, or any characters at all."""
    start = rng.randrange(len(prose) - length)
    cut = prose[start : start + length]
    match rng.randrange(3):
        case 0:
            return cut
        case 1:
            parts = cut.split()
            return " ".join(rng.sample(parts, k=len(parts)))
        case _:
            return "".join(rng.choices(cut + MARKS, k=length // 2))


def turn(rng: random.Random, number: int) -> str:
    return f"<|im_start|>user\n### Turn {number}\n**Action:**\n{action(rng)}<|im_end|>\n"


def shipped(rng: random.Random) -> str:
    """One of the prompts that worlds send, with tools in it."""
    tools = [
        {"name": name, "description": words(rng, 2, 6), "parameters": json_object(rng, 1)}
        for name in rng.sample(TOOLS, k=rng.randint(1, 3))
    ]
    path = rng.choice(sorted(PROMPTS.glob("*.md")))
    text = path.read_text(encoding="utf-8")
    return text.replace("{tool_definitions}", json.dumps(tools, indent=2))


def conversation(rng: random.Random, prose: str, length: int | None) -> list[tuple[str, bool]]:
    """A prompt as the chat template writes it and the answer to it, in parts: text, learned or not.

    Two in five answers are JSON whose beginning is not learned: the model never chooses JSON, but
    goes on in it when a grammar has made it begin.
    """
    told = shipped(rng) if length is None else babble(rng, prose, length)
    prompt = f"<|im_start|>system\nYou are the environment. {told}<|im_end|>\n"
    for number in range(1, rng.randint(1, 1 + TURNS[length is None])):
        past = f"**Environment Observation:**\n{observation(rng)}"
        prompt += f"{turn(rng, number)}<|im_start|>assistant\n{past}<|im_end|>\n"
    last = turn(rng, rng.randint(1, 20))
    if rng.random() < 0.1:
        # What is asked again says why.
        reason = f"An earlier answer to this turn could not be used: {words(rng, 3, 9)}"
        last = last.replace("<|im_end|>", f"\n\n{reason}<|im_end|>")
    prompt += f"{last}<|im_start|>assistant\n<think>\n"
    thinks, as_json = rng.random() < 0.7, rng.random() < 0.4
    parts = [(prompt, False)]
    parts += [(f"{thought(rng)}\n</think>", True)] if thinks else [("\n</think>\n\n", False)]
    if as_json:
        text = json.dumps(json_object(rng, depth=1), separators=(",", ":"))
        return [*parts, ('{"', False), (text.removeprefix('{"') + "<|im_end|>", True)]
    gap = "\n\n" if thinks else ""
    return [
        *parts,
        (
            f"{gap}<predicted_observation>\n{observation(rng)}\n</predicted_observation><|im_end|>",
            True,
        ),
    ]


def make_tokenizer(texts: Iterator[str]) -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = (HERE / "tiny_chat.jinja").read_text(encoding="utf-8")
    return tokenizer


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3MoeForCausalLM:
    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=64,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        max_position_embeddings=16384,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    model = Qwen3MoeForCausalLM(config).to(torch.float32)
    for layer in model.model.layers:
        # Sharp attention from the start: thousands of tokens of prompt must not drown the last few.
        torch.nn.init.constant_(layer.self_attn.q_norm.weight, SHARPNESS)
        torch.nn.init.constant_(layer.self_attn.k_norm.weight, SHARPNESS)
    return model


def batch(
    rng: random.Random, tokenizer: PreTrainedTokenizerFast, prose: str, length: int | None
) -> dict[str, torch.Tensor]:
    rows: list[tuple[list[int], list[int]]] = []
    while sum(len(ids) for ids, _ in rows) < BATCH_TOKENS:
        ids: list[int] = []
        labels: list[int] = []
        for text, learned in conversation(rng, prose, length):
            tokens = tokenizer.encode(text)
            ids += tokens
            labels += tokens if learned else [IGNORED] * len(tokens)
        rows.append((ids, labels))
    width = max(len(ids) for ids, _ in rows)
    return {
        "input_ids": torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows]),
        "attention_mask": torch.tensor(
            [[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows]
        ),
        "labels": torch.tensor([labels + [IGNORED] * (width - len(labels)) for _, labels in rows]),
    }


def loss_of(model: Qwen3MoeForCausalLM, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """The next-token loss, computed only where there is a label: the head is half of the work."""
    hidden = model.model(
        inputs["input_ids"], attention_mask=inputs["attention_mask"]
    ).last_hidden_state
    labels = inputs["labels"][:, 1:]
    learned = labels != IGNORED
    return cross_entropy(model.lm_head(hidden[:, :-1][learned]), labels[learned])


def train(model: Qwen3MoeForCausalLM, tokenizer: PreTrainedTokenizerFast, prose: str) -> None:
    rng = random.Random(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=PEAK_RATE, total_steps=STEPS)
    started = time.monotonic()
    for step in range(STEPS):
        loss = loss_of(model, batch(rng, tokenizer, prose, LENGTHS[step % len(LENGTHS)]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step == STEPS - 1:
            print(
                f"step {step:4d}  loss {loss.item():.3f}  {time.monotonic() - started:.0f} s",
                flush=True,
            )


def main(folder: Path) -> None:
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    rng = random.Random(SEED)
    prose = (HERE.parents[1] / "LICENSE").read_text(encoding="utf-8")
    invented = (text for _ in range(200) for text, _ in conversation(rng, prose, 300))
    prompts = (shipped(rng) for _ in range(20))
    tokenizer = make_tokenizer(chain([prose], invented, prompts))
    model = make_model(tokenizer)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters")
    train(model, tokenizer, prose)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
