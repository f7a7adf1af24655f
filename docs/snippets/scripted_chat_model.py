import re

from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ExpectedAnswer, ScriptedChatModel, ScriptMismatch


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}, 21 degrees"


def asks(**arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "weather", "args": arguments, "id": "1"}])


model = ScriptedChatModel(
    script=[
        asks(city="Oslo"),
        ExpectedAnswer(re.compile(r"\d+ degrees"), tool_call_id="1"),
        AIMessage("It is warm."),
        AIMessage("Anything else?"),
    ]
)
bound = model.bind_tools([weather])
reply = bound.invoke([("user", "How is Oslo?")])
answer = weather.invoke(reply.tool_calls[0])
print(bound.invoke([("user", "How is Oslo?"), reply, answer]).content)
print("never said:", [message.content for message in model.unused_messages()])

try:
    ScriptedChatModel(script=[asks(town="Oslo")]).bind_tools([weather]).invoke("How is Oslo?")
except ScriptMismatch as mismatch:
    print(mismatch)
