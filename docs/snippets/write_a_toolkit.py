from collections.abc import Mapping
from typing import Any

from agentworld_sim import Observation
from agentworld_sim.engines.toolkits import ServerTurn, ServerValues
from agentworld_sim.toolkits import KnownTool, resolve_function


def remember(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    notes = [*turn.kept.get("notes", []), arguments["note"]]
    turn.kept.put("notes", notes)
    return Observation(text=f"{len(notes)} notes are kept.")


TOOLS = (
    KnownTool(
        id="acme/remember",
        names=("remember", "add_note"),
        domain="mcp",
        description="Keeps a note.",
        input_schema={
            "type": "object",
            "properties": {"note": {"type": "string"}},
            "required": ["note"],
        },
        engine="toolkits",
        operation=f"{__name__}:remember",
    ),
)

if __name__ == "__main__":
    turn = ServerTurn(
        ServerValues({"acme/notes": ["milk"]}, "acme/"), clock_us=0, seed=1, name="remember"
    )
    print(resolve_function(TOOLS[0].operation)(turn, {"note": "bread"}).text)
    print(turn.kept.changes)
