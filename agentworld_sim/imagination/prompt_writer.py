"""What the model is sent about a question, whether a server is asked or a training sample is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentworld_sim.domains import domain
from agentworld_sim.imagination.conversation import Conversation
from agentworld_sim.imagination.prompt_markers import harmless
from agentworld_sim.imagination.prompt_set import COMMAND, PromptSet
from agentworld_sim.ports import Briefing, Prompt
from agentworld_sim.types.tools import DomainName, ToolSpec


class PromptWriter:
    """Writes the conversations of the worlds of one scenario."""

    def __init__(self, prompts: PromptSet, briefing: Briefing | None = None) -> None:
        """
        Args:
            prompts: What the model is told about its part.
            briefing: What the scenario tells it.
        """
        self._prompts = prompts
        self._briefing = briefing or Briefing()
        self._told: tuple[list[ToolSpec], tuple[str, bool], str] | None = None

    def conversation(self, prompt: Prompt, instruction: str = "") -> Conversation:
        """The conversation that ends with what is asked.

        Args:
            prompt: What is asked.
            instruction: How the world shall behave, beside what the briefing says of it.
        """
        briefing, subject = self._briefing, prompt.subject
        instruction = "\n".join(filter(None, (briefing.instruction, instruction)))
        memory = prompt.memory.setdefault(subject, {})
        if subject == COMMAND:
            return Conversation(
                domain=_COMMANDS,
                system=self._command_system(instruction),
                parts=prompt.parts,
                secrets=briefing.secrets | prompt.secrets,
                memory=memory,
            )
        return Conversation(
            domain=domain(subject),
            system=self._system(subject, prompt.tools, instruction, bool(prompt.records)),
            records=prompt.records,
            parts=prompt.parts,
            task=briefing.task if domain(subject).tells_task else "",
            initial_state=briefing.initial_state.get(subject, ""),
            secrets=briefing.secrets | prompt.secrets,
            # One world may have tools of several domains; each is a conversation of its own.
            memory=memory,
        )

    def _command_system(self, instruction: str) -> str:
        system = self._prompts.command()
        if not instruction:
            return system
        return f"{system}\n\n# Simulation instruction\n\n{harmless(instruction)}"

    def _system(
        self, name: DomainName, tools: Sequence[ToolSpec], instruction: str, with_records: bool
    ) -> str:
        # Tools are values: while they are the very same, so is what is said of them.
        told, rest = self._told, (instruction, with_records)
        if told and told[1] == rest and list(map(id, told[0])) == list(map(id, tools)):
            return told[2]
        briefing = self._briefing
        initial_state = briefing.initial_state.get(name, "")
        system = self._prompts.system(
            name,
            tools=tools,
            # What a first turn tells as its state is not said twice.
            initial_state=initial_state if domain(name).state == "never" else "",
            demonstrations=briefing.demonstrations.get(name, ""),
            instruction=instruction,
        )
        if with_records:
            system = f"{system}\n\n{self._prompts.records()}"
        self._told = (list(tools), rest, system)
        return system


_COMMANDS = replace(domain("terminal"), fence="", state="never")
"""Commands are conversed about as the terminal's actions are, without fence and state."""
