"""The written form of an accessibility tree: YAML as Playwright writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agentworld_sim.engines.web.accessibility_node import AccessibilityNode

MAX_NAME = 900
"""Longer names are left out."""

MAX_KEPT = 1000
"""Characters of lines that are kept with a node; longer ones are made of what is kept below."""

_QUOTED = re.compile(
    r"^\s|\s$|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|^-|[\n:](?:\s|$)|\s#|[\n\r]|^[&*\],?!>|@\"'#%]|[{}`]|^\["
)
_NUMBER = re.compile(
    r"\s*(?:[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)?\s*"
)
_WORDS = frozenset("y n yes no true false on off null".split())
_json_text = json.JSONEncoder(ensure_ascii=False).encode
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f]')
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def needs_quotes(text: str) -> bool:
    return (
        _QUOTED.search(text) is not None
        or _NUMBER.fullmatch(text) is not None
        or text.lower() in _WORDS
    )


def _quote_key(text: str) -> str:
    """A key begins with a role, so it is no number and no word with a meaning."""
    return "'" + text.replace("'", "''") + "'" if _QUOTED.search(text) else text


def quote_value(text: str) -> str:
    if not needs_quotes(text):
        return text
    return (
        '"'
        + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], f"\\x{ord(found[0]):02x}"), text)
        + '"'
    )


def snapshot_yaml(
    content: Sequence[AccessibilityNode | str], *, old_rules: bool, depth: int | None = None
) -> str:
    """The tree below the nodes and texts of `content`.

    Args:
        content: What stands at the top.
        old_rules: Write names between slashes without quotes, as Playwright did before the distiller.
        depth: Levels to show, the top one is 0; all if None or 0.
    """
    lines: list[str] = []
    for part in content:
        if isinstance(part, str):
            lines.append(f"- text: {quote_value(part)}")
        else:
            lines.append(_block(part, 0, True, old_rules, depth or 0))
    return "\n".join(lines)


def _block(node: AccessibilityNode, level: int, hand: bool, old_rules: bool, depth: int) -> str:
    """The lines of a node; kept on the node, because most nodes are the same in the next snapshot."""
    form = (level, hand, old_rules, depth)
    if node.written is not None and node.written[0] == form:
        return node.written[1]
    indent = "  " * level
    shows_hand = bool(hand and node.pointer and node.ref)
    key = f"{indent}- {_quote_key(_key(node, shows_hand, old_rules))}"
    children = node.children
    text = children[0] if len(children) == 1 and isinstance(children[0], str) else None
    if text is None and depth and level == depth:
        children = ()
    if not children and not node.properties:
        block = key
    elif text is not None and not node.properties:
        block = f"{key}: {quote_value(text)}"
    else:
        lines = [f"{key}:"]
        lines += (f"{indent}  - /{name}: {quote_value(value)}" for name, value in node.properties)
        for child in children:
            if isinstance(child, str):
                lines.append(f"{indent}  - text: {quote_value(child)}")
            else:
                lines.append(_block(child, level + 1, hand and not shows_hand, old_rules, depth))
        block = "\n".join(lines)
    if len(block) < MAX_KEPT:
        node.written = (form, block)
    return block


def _key(node: AccessibilityNode, shows_hand: bool, old_rules: bool) -> str:
    key = node.role
    name = node.name
    if name and len(name) <= MAX_NAME:
        is_pattern = old_rules and name.startswith("/") and name.endswith("/")
        key += f" {name}" if is_pattern else f" {_json_text(name)}"
    if node.states:
        key += "".join(f" [{state}]" for state in node.states)
    if node.ref:
        key += f" [ref={node.ref}] [cursor=pointer]" if shows_hand else f" [ref={node.ref}]"
    return key
