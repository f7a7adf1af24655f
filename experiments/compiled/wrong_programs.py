"""Programs that are subtly wrong: one place of a right one is changed, or the author's recordings are learnt by heart."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentworld_sim.bench.predict import operations_of
from agentworld_sim.bench.transitions import Transition

_CARD = '"balance": card["balance"] + booking["travel_cost"]'
_BELOW = '    return [one for one in tables[FILES] if one == path or one.startswith(path + "/")]'
_BRAKE = 'if value_of(tables, car + "brakePedalStatus") != "pressed":'
_TOKEN = 'if arguments["access_token"] != value_of(tables, api + "access_token"):'
_BUDGET_TOKEN = _TOKEN.replace('api + "', '"TravelAPI.')

CHANGED: list[tuple[str, str, str, str]] = [
    ("fillFuelTank", "off by one at the limit", "level > 50", "level >= 50"),
    ("fillFuelTank", "no side effect", ', "operations": [setting("VehicleControlAPI.fuelLevel", level)]', ""),
    ("fillFuelTank", "an error case forgotten", "level > 50", "False"),
    ("cancel_booking", "no refund", _CARD, '"balance": card["balance"]'),
    ("cancel_booking", "an error case forgotten", _TOKEN, "if False:"),
    ("send_message", "a counter not advanced", 'api + "message_count") + 1', 'api + "message_count")'),
    ("send_message", "off by one", 'str(len(tables[api + "inbox"]))', 'str(len(tables[api + "inbox"]) + 1)'),
    ("place_order", "a counter not advanced", "number + 1)", "number)"),
    ("place_order", "off by one at the limit", '> account["balance"]', '>= account["balance"]'),
    ("place_order", "an error case forgotten", 'if symbol not in tables["TradingBot.stocks"]', "if False"),
    ("post_tweet", "an argument forgotten", 'arguments.get("mentions", [])', "[]"),
    ("post_tweet", "a counter not advanced", "number + 1)", "number)"),
    ("cd", "goes up to the root", 'here(tables).rpartition("/")[0]', '"/" + here(tables).split("/")[1]'),
    ("cd", "an error case forgotten", 'if not found or found["type"] != "directory":', "if False:"),
    ("rm", "what is below stays", _BELOW, "    return [one for one in tables[FILES] if one == path]"),
    ("mv", "not into a folder that is there", 'if held and held["type"] == "directory":', "if False:"),
    ("mv", "the source stays", 'operations.append({"kind": "delete", "table": FILES, "key": one})', "pass"),
    ("cp", "an error case forgotten", "if end in tables[FILES]:", "if False:"),
    ("wc", "off by one", "len(text.splitlines())", "len(text.splitlines()) + 1"),
    ("wc", "spaces are not counted", '"count": len(text)', '"count": len(text.replace(" ", ""))'),
    ("sort", "case is ignored", "sorted(text.splitlines())", "sorted(text.splitlines(), key=str.lower)"),
    ("ls", "hidden files are shown", 'if not arguments.get("a", False):', "if False:"),
    ("diff", "the first line alone", "for left, right in pairs if", "for left, right in list(pairs)[:1] if"),
    ("startEngine", "an error case forgotten", 'if value_of(tables, car + "remainingUnlockedDoors") > 0:', "if False:"),
    ("startEngine", "an error case forgotten", _BRAKE, "if False:"),
    ("cancel_order", "an error case forgotten", 'if orders[key]["status"] == "Completed":', "if False:"),
    ("set_budget_limit", "an error case forgotten", _BUDGET_TOKEN, "if False:"),
    ("create_ticket", "another default", 'arguments.get("priority", 1)', 'arguments.get("priority", 3)'),
    ("check_tire_pressure", "another limit", "30 <= average", "28 <= average"),
    ("estimate_drive_feasibility_by_mileage", "another unit", "* 20", "* 23"),
    ("add_to_watchlist", "adds what is there", 'arguments["stock"] in held or ', ""),
    ("add_to_watchlist", "adds what is no stock", ' or arguments["stock"] not in tables["TradingBot.stocks"]', ""),
    ("grep", "case is ignored", 'arguments["pattern"] in one', 'arguments["pattern"].lower() in one.lower()'),
    ("authenticate_twitter", "any password", '("username", "password")', '("username",)'),
    ("echo", "appends", '"content": arguments["content"]}', '"content": text_of(tables, name) + arguments["content"]}'),
    ("retrieve_invoice", "an error case forgotten", _TOKEN, "if False:"),
    ("get_stock_info", "an error case forgotten", "if record is None:", "if False:"),
    ("gallon_to_liter", "rounded", '3.78541}', '3.78541 // 1}'),
    ("mean", "rounded", "sum(numbers) / len(numbers)", "round(sum(numbers) / len(numbers), 2)"),
]  # fmt: skip
"""Tool, what is wrong, and the place in the right program with what stands there instead."""

LEARNT_BY_HEART = [
    *("get_zipcode_based_on_city", "estimate_distance", "compute_exchange_rate", "gallon_to_liter"),
    *("get_stock_info", "startEngine", "set_budget_limit", "cd", "get_order_details"),
]

_TABLE = """
KNOWN = {known!r}

def answer(arguments, tables, now, seed):
    import json
    found = KNOWN.get(json.dumps(arguments, sort_keys=True))
    return json.loads(found or {usual!r})
"""


def learnt_by_heart(shown: Sequence[Transition]) -> str:
    """A program that looks calls up by their arguments."""
    known: dict[str, str] = {}
    for one in shown:
        said = one.truth.observation
        key = "error" if said.is_error else "text"
        reply = {key: said.text, **({} if said.is_error else {"operations": operations_of(one)})}
        known[json.dumps(dict(one.truth.call.arguments), sort_keys=True)] = json.dumps(reply)
    return _TABLE.format(known=known, usual=next(iter(known.values()), '{"text": ""}'))
