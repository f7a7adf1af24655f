"""What the language world model is told about its part: one prompt per domain, and one for a command.

The shipped prompts are data files in `prompts/v1`. A folder in the layout of the released model's
repository, `<domain>/system_prompt.txt`, can take their place."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast, get_args

from agentworld_sim.domains.text import sendable
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import DomainName, ToolSpec

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


def clean_definition(value: Any) -> Any:
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
        return {key: clean_definition(one) for key, one in cast("dict[str, Any]", value).items()}
    return (
        [clean_definition(one) for one in cast("list[Any]", value)]
        if isinstance(value, list)
        else value
    )


def escape_markers(text: str) -> str:
    """`text` without anything that a chat template or a tokenizer would take for its own.

    What an agent, a tool's description or a file says must not end a message or begin another.
    """
    return _CONTROL.sub(r"\g<0> ", text)


TAG = "predicted_observation"
"""The tag around what the model predicts."""

TAG_INSTRUCTION = (
    "First think the step through. Then write the observation, and nothing else, inside one pair of"
    f" tags, <{TAG}> and </{TAG}>."
)
"""Added to a prompt that never mentions the tag."""

SHIPPED_VERSION = "v1"
COMMAND = "command"
"""Name of the prompt for one command inside a shell's turn."""

RECORDS = "records"
"""Name of the part about records."""

_FILE = "system_prompt.txt"
_NAMES = (*get_args(DomainName), COMMAND, RECORDS)
_TOOL_DEFINITIONS = "{tool_definitions}"
_DEMONSTRATIONS = "{demonstrations}"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The prompts of one version."""

    version: str
    """`v1` and so on for the shipped ones; for a folder, a short digest of its prompts."""
    templates: Mapping[str, str]
    """Domain, or `command`, to its prompt with placeholders."""
    source: str = "the shipped prompts"
    """Where they come from, for messages."""

    @classmethod
    def default(cls) -> PromptSet:
        """The prompts that come with this package."""
        return cls(SHIPPED_VERSION, _shipped_templates())

    @classmethod
    def load(cls, folder: Path) -> PromptSet:
        """The prompts of a folder that holds `<domain>/system_prompt.txt`, as far as it holds them.

        Raises:
            UsageError: there is no such folder, it holds no prompt, or one cannot be read.
        """
        if not folder.is_dir():
            raise UsageError(f"there is no folder of prompts {str(folder)!r}.")
        paths = {name: folder / name / _FILE for name in _NAMES}
        templates = {name: _text(path) for name, path in paths.items() if path.is_file()}
        if not any(name in templates for name in get_args(DomainName)):
            raise UsageError(
                f"the folder {str(folder)!r} holds no prompts. It should hold one folder per domain"
                f" with a {_FILE!r}, for example {str(paths['terminal'])!r}."
                + _nearest_folder(folder)
            )
        digest = hashlib.sha256(canonical_json(templates).encode()).hexdigest()[:12]
        return cls(digest, templates, f"the folder {str(folder)!r}")

    def system(
        self,
        domain: DomainName,
        *,
        tools: Sequence[ToolSpec] = (),
        initial_state: str = "",
        demonstrations: str = "",
        instruction: str = "",
    ) -> str:
        """The system message for worlds of a domain.

        Its parts stand in the order in which the model was trained: task, actions, initial state,
        demonstrations, simulation instruction. The last three are left out when empty.

        Args:
            tools: What can be called; told where the prompt has a place for it.
            initial_state: What is there before the first turn.
            demonstrations: Turns of a similar session, written as in a prompt.
            instruction: How this world is to behave.

        Raises:
            UsageError: there is no prompt for the domain.
        """
        template = self._template(domain)
        # Cut first, filled afterwards: what is filled in is never searched for placeholders.
        before, _, after = template.partition(_DEMONSTRATIONS)
        definitions = tool_definitions(tools) if _TOOL_DEFINITIONS in template else ""
        return _join(
            before.replace(_TOOL_DEFINITIONS, definitions),
            _part("Initial State", initial_state),
            _part("Demonstrations", demonstrations),
            after.replace(_DEMONSTRATIONS, "").replace(_TOOL_DEFINITIONS, definitions),
            _part("Simulation Instruction", instruction),
            _tag_instruction(template),
        )

    def command(self) -> str:
        """The system message for one command inside a shell's turn.

        It is the shipped one unless the folder has its own, `command/system_prompt.txt`.
        """
        template = self.templates.get(COMMAND) or _shipped_templates()[COMMAND]
        return _join(template, _tag_instruction(template))

    def records(self) -> str:
        """What is added to the system message of a world that keeps records."""
        return self.templates.get(RECORDS) or _shipped_templates()[RECORDS]

    def _template(self, domain: str) -> str:
        try:
            return self.templates[domain]
        except KeyError:
            known = [name for name in self.templates if name not in (COMMAND, RECORDS)]
            raise UsageError(
                f"{self.source} has no prompt for the domain {domain!r}."
                f"{nearest(domain, known)} It has: {', '.join(known)}. Add"
                f" '{domain}/{_FILE}', or use the shipped prompts."
            ) from None


def tool_definitions(tools: Sequence[ToolSpec]) -> str:
    """The tools as JSON, the same bytes for equal tools in whatever order."""
    definitions: list[dict[str, Any]] = []
    for tool in sorted(tools, key=lambda tool: tool.name):
        definition: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": _sort_keys(tool.input_schema),
        }
        if tool.output_schema is not None:
            definition["output_schema"] = _sort_keys(tool.output_schema)
        definitions.append(definition)
    return escape_markers(
        sendable(json.dumps(clean_definition(definitions), indent=2, ensure_ascii=False))
    )


def _sort_keys(schema: Mapping[str, Any]) -> Any:
    # A tool read back from a record has its keys sorted; one that was just made has not.
    return json.loads(canonical_json(schema))


def _part(heading: str, text: str) -> str:
    return f"# {heading}\n\n{escape_markers(sendable(text)).strip()}" if text.strip() else ""


def _tag_instruction(template: str) -> str:
    return "" if TAG in template else TAG_INSTRUCTION


def _join(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


@cache
def _shipped_templates() -> Mapping[str, str]:
    folder = files("agentworld_sim.imagination") / "prompts" / SHIPPED_VERSION
    return {name: (folder / f"{name}.md").read_text("utf-8") for name in _NAMES}


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the prompt {str(path)!r} cannot be read: {error}") from None
    if not text.strip():
        raise UsageError(f"the prompt {str(path)!r} is empty.")
    return text


def _nearest_folder(folder: Path) -> str:
    """The folder of prompts inside a checked-out repository, if that was meant."""
    inside = folder / "prompts"
    if any((inside / name / _FILE).is_file() for name in _NAMES):
        return f" Did you mean {str(inside)!r}?"
    return ""
