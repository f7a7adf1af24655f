"""What the model is sent about a call, whether a server is asked or a training sample is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_sim.domains import Domain, domain
from agentworld_sim.imagination.briefing import Briefing
from agentworld_sim.imagination.conversation import TOLD_THE_TASK, Conversation, Written, parts_of
from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Turn


def domain_of(tool: ToolSpec) -> Domain:
    """The domain that a bound tool is written in."""
    return domain(tool.domain or "mcp")


class PromptWriter:
    """Writes the conversations of one world. What it wrote of earlier turns it keeps, and says again."""

    def __init__(self, prompts: PromptSet, briefing: Briefing | None = None) -> None:
        """
        Args:
            prompts: What the model is told about its part.
            briefing: What the scenario tells it.
        """
        self._prompts = prompts
        self._briefing = briefing or Briefing()
        self._memory: dict[str, dict[int, Written]] = {}
        self._told: tuple[list[ToolSpec], tuple[str, bool], str] | None = None

    def conversation(
        self,
        call: ToolCall,
        tool: ToolSpec,
        *,
        tools: Mapping[str, ToolSpec],
        history: Sequence[Turn],
        records: str = "",
        action: Action | None = None,
        instruction: str = "",
    ) -> Conversation:
        """The conversation that ends with a call.

        Args:
            call: What is asked about.
            tool: The tool it names, as bound.
            tools: All tools of the world as bound, by name.
            history: All turns before, oldest first.
            records: Records of the world that matter for the call.
            action: The call as it is written; a call read back from a record has lost the order of its
                arguments, and the recorded action has it.
            instruction: How the world shall behave, beside what the briefing says of it.
        """
        own = domain_of(tool)
        briefing = self._briefing
        offered = [one for one in tools.values() if one.domain == own.name] or [tool]

        def belongs(turn: Turn) -> bool:
            known = tools.get(turn.call.name)
            return known is not None and known.domain == own.name

        return Conversation(
            domain=own,
            system=self._system(own, offered, instruction, with_records=bool(records)),
            records=records,
            parts=parts_of(history, action or own.action(call, tool), own, belongs),
            task=briefing.task if own.name in TOLD_THE_TASK else "",
            initial_state=briefing.initial_state.get(own.name, ""),
            secrets=briefing.secrets,
            # One world may have tools of several domains; each is a conversation of its own.
            memory=self._memory.setdefault(own.name, {}),
        )

    def _system(
        self, own: Domain, offered: list[ToolSpec], instruction: str, *, with_records: bool
    ) -> str:
        # Tools are values: while they are the very same, so is what is said of them.
        told, briefing = self._told, self._briefing
        instruction = "\n".join(filter(None, (briefing.instruction, instruction)))
        rest = (instruction, with_records)
        if told and told[1] == rest and list(map(id, told[0])) == list(map(id, offered)):
            return told[2]
        system = self._prompts.system(
            own.name,
            tools=offered,
            # What a first turn tells as its state is not said twice.
            initial_state=briefing.initial_state.get(own.name, "") if own.state == "never" else "",
            demonstrations=briefing.demonstrations.get(own.name, ""),
            instruction=instruction,
        )
        if with_records:
            system = f"{system}\n\n{self._prompts.records()}"
        self._told = (offered, rest, system)
        return system
