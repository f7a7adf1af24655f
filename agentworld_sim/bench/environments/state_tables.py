"""States of code-defined environments as tables of records. No module of ours is imported here: the programs beside
this one run in Python environments that have somebody else's package and nothing more."""

import hashlib
import json
import sys

SETTINGS = "settings"
"""The table of everything in a state that is no record."""


def write_line(value):
    """Writes one JSON value as a line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


def write_state(tables, written):
    """Writes a state as tables unless an equal one was written before; returns the name it goes by."""
    text = json.dumps(tables, ensure_ascii=False, sort_keys=True, default=str)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    if name not in written:
        written.add(name)
        write_line({"state": name, "tables": tables})
    return name


class Tables:
    """Turns the states of one session into tables, the same way in every turn.

    A mapping of objects and a list of objects are a table each; everything else is a record of `settings`. What
    an empty collection holds is only known later, so all states of the session are looked at first.
    """

    def __init__(self, states):
        self.keys = {SETTINGS: "name"}
        for state in states:
            for name, value in state.items():
                if name not in self.keys and _is_collection(value):
                    self.keys[name] = _key_field(value)

    def of(self, state):
        """Table to key to record."""
        found = {name: {} for name in self.keys}
        for name, value in state.items():
            field = self.keys.get(name)
            if field is None:
                found[SETTINGS][name] = {"name": name, "value": value}
                continue
            pairs = value.items() if isinstance(value, dict) else enumerate(value or ())
            for place, record in pairs:
                own = record if field in record else {field: str(place), **record}
                found[name][str(own[field])] = own
        return found


def changes(before, after):
    """What differs between two states as tables: table to key to the record afterwards, `None` where it is gone."""
    found = {}
    for table in sorted({*before, *after}):
        old, new = before.get(table, {}), after.get(table, {})
        changed = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
        if changed:
            found[table] = changed
    return found


def unlike_scalars(one, other):
    """The scalars of `one` that differ in `other`, a value that should be the same but for chance."""
    if isinstance(one, dict) and isinstance(other, dict) and len(one) == len(other):
        # A key may itself be drawn by chance, and both keep the order in which they were made.
        found = []
        for (left, a), (right, b) in zip(one.items(), other.items()):
            found += ([] if left == right else [left]) + unlike_scalars(a, b)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for a, b in zip(one, other) for found in unlike_scalars(a, b)]
    return [] if one == other or isinstance(one, (dict, list)) else [str(one)]


def _is_collection(value):
    members = list(value.values()) if isinstance(value, dict) else value
    return (
        isinstance(members, list)
        and bool(members)
        and all(isinstance(one, dict) for one in members)
    )


def _key_field(value):
    """The field that names a record."""
    records = list(value.values()) if isinstance(value, dict) else value
    shared = [name for name in records[0] if all(name in one for one in records)]
    if isinstance(value, dict):
        named = (
            name for name in shared if all(str(one[name]) == key for key, one in value.items())
        )
        return next(named, "key")
    for name in shared:
        held = [one[name] for one in records]
        if name.lower().endswith("id") and len({str(one) for one in held}) == len(held):
            return name
    return "position"
