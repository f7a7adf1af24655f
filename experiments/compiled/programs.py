"""Programs for BFCL's tools, written from descriptions and the author's part of the recordings: the scripted author."""

import json
from collections.abc import Callable
from typing import Any

SETTINGS = """
def value_of(tables, name):
    return tables["settings"][name]["value"]

def setting(name, value):
    return {"kind": "put", "table": "settings", "record": {"name": name, "value": value}}
"""

FILES = (
    SETTINGS
    + """
FILES = "GorillaFileSystem.files"

def here(tables):
    return value_of(tables, "GorillaFileSystem.working_directory")

def path_of(tables, name):
    return here(tables) + "/" + name

def put(record):
    return {"kind": "put", "table": FILES, "record": record}

def below(tables, path):
    return [one for one in tables[FILES] if one == path or one.startswith(path + "/")]

def text_of(tables, name):
    record = tables[FILES].get(path_of(tables, name))
    return record["content"] if record and record["type"] == "file" else None
"""
)

TRADING = (
    SETTINGS
    + '''
def orders_of(tables):
    """The orders, and whether they are records of their own."""
    if "TradingBot.orders" in tables:
        return {str(one["id"]): one for one in tables["TradingBot.orders"].values()}, True
    return value_of(tables, "TradingBot.orders"), False
'''
)

PROGRAMS: dict[str, str] = {
    "cd": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["folder"]
    if name == "..":
        parent = here(tables).rpartition("/")[0]
        if not parent:
            return {"value": {"error": "Current directory is already the root. Cannot go back."}}
        return {"value": {}, "operations": [setting("GorillaFileSystem.working_directory", parent)]}
    found = tables[FILES].get(path_of(tables, name))
    if not found or found["type"] != "directory":
        return {"value": {"error": "cd: '" + name + "': No such file or directory"}}
    change = setting("GorillaFileSystem.working_directory", path_of(tables, name))
    return {"value": {"current_working_directory": name}, "operations": [change]}
""",
    "cat": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["file_name"]
    text = text_of(tables, name)
    if path_of(tables, name) in tables[FILES] and text is None:
        return {"value": {"error": "cat: '" + name + "': Is a directory"}}
    if text is None:
        return {"value": {"error": "cat: '" + name + "': No such file or directory"}}
    return {"value": {"file_content": text}}
""",
    "touch": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["file_name"]
    if path_of(tables, name) in tables[FILES]:
        return {"value": {"error": "touch: cannot touch '" + name + "': File exists"}}
    record = {"path": path_of(tables, name), "type": "file", "content": ""}
    return {"text": "null", "operations": [put(record)]}
""",
    "echo": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments.get("file_name", "None")
    if name == "None":
        return {"value": {"terminal_output": arguments["content"]}}
    if text_of(tables, name) is None:
        return {"value": {"error": "echo: cannot write to '" + name + "': No such file"}}
    record = {"path": path_of(tables, name), "type": "file", "content": arguments["content"]}
    return {"text": "null", "operations": [put(record)]}
""",
    "rm": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["file_name"]
    gone = below(tables, path_of(tables, name))
    if not gone:
        return {"value": {"error": "rm: cannot remove '" + name + "': No such file or directory"}}
    drop = [{"kind": "delete", "table": FILES, "key": one} for one in gone]
    return {"value": {"result": "'" + name + "' removed"}, "operations": drop}
""",
    "mv": FILES
    + """
def answer(arguments, tables, now, seed):
    source, target = arguments["source"], arguments["destination"]
    begin = path_of(tables, source)
    moved = below(tables, begin)
    if not moved:
        return {"value": {"error": "mv: cannot move '" + source + "': No such file or directory"}}
    end, shown = path_of(tables, target), target
    held = tables[FILES].get(end)
    if held and held["type"] == "directory":
        end, shown = end + "/" + source, target + "/" + source
    elif held:
        return {"value": {"error": "mv: cannot move '" + source + "' to '" + target + "': Not a directory"}}
    operations = []
    for one in moved:
        operations.append({"kind": "delete", "table": FILES, "key": one})
        operations.append(put({**tables[FILES][one], "path": end + one[len(begin):]}))
    return {"value": {"result": "'" + source + "' moved to '" + shown + "'"}, "operations": operations}
""",
    "cp": FILES
    + """
def answer(arguments, tables, now, seed):
    source, target = arguments["source"], arguments["destination"]
    begin = path_of(tables, source)
    copied = below(tables, begin)
    if not copied:
        return {"value": {"error": "cp: cannot copy '" + source + "': No such file or directory"}}
    end, shown = path_of(tables, target), target
    held = tables[FILES].get(end)
    if held and held["type"] == "directory":
        end, shown = end + "/" + source, target + "/" + source
        if end in tables[FILES]:
            text = "File '" + source + "' already exists in directory '" + target + "'."
            return {"error": "Error during execution: " + text}
    operations = [put({**tables[FILES][one], "path": end + one[len(begin):]}) for one in copied]
    return {"value": {"result": "'" + source + "' copied to '" + shown + "'"}, "operations": operations}
""",
    "ls": FILES
    + """
def answer(arguments, tables, now, seed):
    start = here(tables) + "/"
    names = [one[len(start):] for one in tables[FILES] if one.startswith(start)]
    names = [one for one in names if "/" not in one]
    if not arguments.get("a", False):
        names = [one for one in names if not one.startswith(".")]
    return {"value": {"current_directory_content": names}}
""",
    "diff": FILES
    + """
def answer(arguments, tables, now, seed):
    one, other = arguments["file_name1"], arguments["file_name2"]
    old, new = text_of(tables, one), text_of(tables, other)
    if old is None or new is None:
        return {"value": {"error": "diff: " + one + " or " + other + ": No such file or directory"}}
    pairs = zip(old.splitlines(), new.splitlines())
    lines = ["- " + left + "\\n+ " + right for left, right in pairs if left != right]
    return {"value": {"diff_lines": "\\n".join(lines)}}
""",
    "grep": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["file_name"]
    text = text_of(tables, name)
    if text is None:
        return {"value": {"error": "grep: " + name + ": No such file or directory"}}
    lines = [one for one in text.splitlines() if arguments["pattern"] in one]
    return {"value": {"matching_lines": lines}}
""",
    "sort": FILES
    + """
def answer(arguments, tables, now, seed):
    name = arguments["file_name"]
    text = text_of(tables, name)
    if text is None:
        return {"value": {"error": "sort: " + name + ": No such file or directory"}}
    return {"value": {"sorted_content": "\\n".join(sorted(text.splitlines()))}}
""",
    "wc": FILES
    + """
def answer(arguments, tables, now, seed):
    name, mode = arguments["file_name"], arguments.get("mode", "l")
    if mode not in ("l", "w", "c"):
        return {"value": {"error": "wc: invalid mode '" + mode + "'"}}
    text = text_of(tables, name)
    if text is None:
        return {"value": {"error": "wc: " + name + ": No such file or directory"}}
    if mode == "l":
        return {"value": {"count": len(text.splitlines()), "type": "lines"}}
    if mode == "w":
        return {"value": {"count": len(text.split()), "type": "words"}}
    return {"value": {"count": len(text), "type": "characters"}}
""",
    "mean": """
def answer(arguments, tables, now, seed):
    numbers = arguments["numbers"]
    if not numbers:
        return {"value": {"error": "Cannot compute mean of an empty list"}}
    return {"value": {"result": sum(numbers) / len(numbers)}}
""",
    "gallon_to_liter": """
def answer(arguments, tables, now, seed):
    return {"value": {"liter": arguments["gallon"] * 3.78541}}
""",
    "liter_to_gallon": """
def answer(arguments, tables, now, seed):
    return {"value": {"gallon": arguments["liter"] * 0.264172}}
""",
    "fillFuelTank": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    amount = arguments["fuelAmount"]
    if amount < 0:
        return {"value": {"error": "Fuel amount cannot be negative."}}
    level = value_of(tables, "VehicleControlAPI.fuelLevel") + amount
    if level > 50:
        return {"value": {"error": "Cannot fill gas above the tank capacity."}}
    return {"value": {"fuelLevel": level}, "operations": [setting("VehicleControlAPI.fuelLevel", level)]}
""",
    "startEngine": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    car = "VehicleControlAPI."
    mode = arguments["ignitionMode"]
    if mode not in ("START", "STOP"):
        return {"value": {"error": "Invalid ignition mode."}}
    state = "stopped"
    if mode == "START":
        if value_of(tables, car + "remainingUnlockedDoors") > 0:
            text = "All doors must be locked before starting the engine."
            count = value_of(tables, car + "remainingUnlockedDoors")
            return {"value": {"error": text + " Here are the unlocked doors: " + str(count)}}
        if value_of(tables, car + "brakePedalStatus") != "pressed":
            return {"value": {"error": "Brake pedal needs to be pressed when starting the engine."}}
        state = "running"
    value = {
        "engineState": state,
        "fuelLevel": value_of(tables, car + "fuelLevel"),
        "batteryVoltage": value_of(tables, car + "batteryVoltage"),
    }
    return {"value": value, "operations": [setting(car + "engine_state", state)]}
""",
    "pressBrakePedal": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    position = arguments["pedalPosition"]
    if position < 0 or position > 1:
        return {"value": {"error": "Pedal position must be between 0 and 1."}}
    status = "pressed" if position > 0 else "released"
    value = {"brakePedalStatus": status, "brakePedalForce": 1000.0 * position}
    return {"value": value, "operations": [setting("VehicleControlAPI.brakePedalStatus", status)]}
""",
    "lockDoors": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    car = "VehicleControlAPI."
    status = "unlocked" if arguments["unlock"] else "locked"
    doors = {**value_of(tables, car + "doorStatus")}
    count = value_of(tables, car + "remainingUnlockedDoors")
    for one in arguments["door"]:
        if doors.get(one) != status:
            count += 1 if arguments["unlock"] else -1
            doors[one] = status
    operations = [setting(car + "doorStatus", doors), setting(car + "remainingUnlockedDoors", count)]
    return {"value": {"lockStatus": status, "remainingUnlockedDoors": count}, "operations": operations}
""",
    "check_tire_pressure": SETTINGS
    + """
CAR_INFO = @LEARNT@
def answer(arguments, tables, now, seed):
    value = {}
    for one in ("frontLeft", "frontRight", "rearLeft", "rearRight"):
        value[one + "TirePressure"] = value_of(tables, "VehicleControlAPI." + one + "TirePressure")
    average = sum(value.values()) / 4
    value["healthy_tire_pressure"] = 30 <= average <= 35
    value["car_info"] = CAR_INFO if value_of(tables, "VehicleControlAPI.long_context") else {}
    return {"value": value}
""",
    "estimate_drive_feasibility_by_mileage": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    miles = value_of(tables, "VehicleControlAPI.fuelLevel") * 20
    return {"value": {"canDrive": miles >= arguments["distance"]}}
""",
    "get_account_info": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    return {"value": value_of(tables, "TradingBot.account_info")}
""",
    "get_stock_info": SETTINGS
    + """
AVERAGES = @LEARNT@

def answer(arguments, tables, now, seed):
    name = arguments["symbol"]
    record = tables["TradingBot.stocks"].get(name)
    if record is None:
        return {"value": {"error": "Stock with symbol '" + name + "' not found."}}
    value = {key: one for key, one in record.items() if key != "key"}
    if value_of(tables, "TradingBot.long_context"):
        value.update(AVERAGES)
    return {"value": value}
""",
    "get_watchlist": SETTINGS
    + """
MORE = @LEARNT@

def answer(arguments, tables, now, seed):
    held = value_of(tables, "TradingBot.watch_list")
    if value_of(tables, "TradingBot.long_context"):
        return {"value": held + MORE}
    return {"value": {"watchlist": held}}
""",
    "add_to_watchlist": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    held = value_of(tables, "TradingBot.watch_list")
    if arguments["stock"] in held or arguments["stock"] not in tables["TradingBot.stocks"]:
        return {"value": {"watchlist": held}}
    held = held + [arguments["stock"]]
    return {"value": {"watchlist": held}, "operations": [setting("TradingBot.watch_list", held)]}
""",
    "remove_stock_from_watchlist": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    name, held = arguments["symbol"], value_of(tables, "TradingBot.watch_list")
    if name not in held:
        return {"value": {"error": "Stock " + name + " not found in watchlist."}}
    held = [one for one in held if one != name]
    value = {"status": "Stock " + name + " removed from watchlist successfully."}
    return {"value": value, "operations": [setting("TradingBot.watch_list", held)]}
""",
    "cancel_order": TRADING
    + """
def answer(arguments, tables, now, seed):
    orders, apart = orders_of(tables)
    key = str(arguments["order_id"])
    if key not in orders:
        return {"value": {"error": "Order with ID " + key + " not found."}}
    if orders[key]["status"] == "Completed":
        return {"value": {"error": "Can't cancel order " + key + ". Order is already completed."}}
    order = {**orders[key], "status": "Cancelled"}
    change = {"kind": "put", "table": "TradingBot.orders", "record": order}
    if not apart:
        change = setting("TradingBot.orders", {**orders, key: order})
    value = {"order_id": arguments["order_id"], "status": "Cancelled"}
    return {"value": value, "operations": [change]}
""",
    "get_order_details": TRADING
    + """
def answer(arguments, tables, now, seed):
    orders, apart = orders_of(tables)
    key = str(arguments["order_id"])
    if key not in orders:
        names = [int(one) if one.isdigit() else one for one in orders]
        text = "Order with ID " + key + " not found." + "Here is the list of orders_id: " + str(names)
        return {"value": {"error": text}}
    return {"value": orders[key]}
""",
    "place_order": TRADING
    + """
def answer(arguments, tables, now, seed):
    orders, apart = orders_of(tables)
    price, amount, symbol = float(arguments["price"]), arguments["amount"], arguments["symbol"]
    if symbol not in tables["TradingBot.stocks"]:
        return {"value": {"error": "Invalid stock symbol: " + symbol}}
    account = value_of(tables, "TradingBot.account_info")
    if price <= 0 or amount <= 0:
        return {"value": {"error": "Price and amount must be positive values."}}
    if price * amount > account["balance"]:
        text = "Insufficient funds: required $" + f"{price * amount:.2f}"
        return {"value": {"error": text + " but only $" + f"{account['balance']:.2f}" + " available."}}
    number = value_of(tables, "TradingBot.order_counter")
    order = {"id": number, "order_type": arguments["order_type"], "symbol": symbol}
    order = {**order, "price": price, "amount": amount, "status": "Open"}
    change = {"kind": "put", "table": "TradingBot.orders", "record": order}
    if not apart:
        change = setting("TradingBot.orders", {**orders, str(number): order})
    value = {"order_id": number, "order_type": arguments["order_type"], "status": "Pending"}
    operations = [change, setting("TradingBot.order_counter", number + 1)]
    return {"value": {**value, "price": price, "amount": amount}, "operations": operations}
""",
    "post_tweet": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "TwitterAPI."
    if not value_of(tables, api + "authenticated"):
        return {"value": {"error": "User not authenticated. Please authenticate before posting."}}
    number = value_of(tables, api + "tweet_counter")
    tweet = {"id": number, "username": value_of(tables, api + "username"), "content": arguments["content"]}
    tweet = {**tweet, "tags": arguments.get("tags", []), "mentions": arguments.get("mentions", [])}
    change = {"kind": "put", "table": api + "tweets", "record": tweet}
    if api + "tweets" not in tables:
        change = setting(api + "tweets", {**value_of(tables, api + "tweets"), str(number): tweet})
    return {"value": tweet, "operations": [change, setting(api + "tweet_counter", number + 1)]}
""",
    "authenticate_twitter": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "TwitterAPI."
    right = all(arguments[one] == value_of(tables, api + one) for one in ("username", "password"))
    operations = [setting(api + "authenticated", True)] if right else []
    return {"value": {"authentication_status": right}, "operations": operations}
""",
    "ticket_login": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    if not arguments["username"] or not arguments["password"]:
        return {"value": {"success": False}}
    change = setting("TicketAPI.current_user", arguments["username"])
    return {"value": {"success": True}, "operations": [change]}
""",
    "create_ticket": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "TicketAPI."
    user, priority = value_of(tables, api + "current_user"), arguments.get("priority", 1)
    if not user:
        return {"value": {"error": "User not authenticated. Please log in to create a ticket."}}
    if priority < 1 or priority > 5:
        return {"value": {"error": "Invalid priority. Priority must be between 1 and 5."}}
    number = value_of(tables, api + "ticket_counter")
    ticket = {"id": number, "title": arguments["title"], "description": arguments.get("description", "")}
    ticket = {**ticket, "status": "Open", "priority": priority, "created_by": user}
    held = tables[api + "ticket_queue"]
    place = {"position": str(len(held))} if any("position" in one for one in held.values()) else {}
    change = {"kind": "put", "table": api + "ticket_queue", "record": {**place, **ticket}}
    return {"value": ticket, "operations": [change, setting(api + "ticket_counter", number + 1)]}
""",
    "set_budget_limit": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    if arguments["access_token"] != value_of(tables, "TravelAPI.access_token"):
        return {"value": {"error": "Invalid access token"}}
    limit = float(arguments["budget_limit"])
    change = setting("TravelAPI.budget_limit", limit)
    return {"value": {"budget_limit": limit}, "operations": [change]}
""",
    "cancel_booking": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "TravelAPI."
    if arguments["access_token"] != value_of(tables, api + "access_token"):
        return {"value": {"cancel_status": False, "error": "Invalid access token"}}
    apart = api + "booking_record" in tables
    held = tables[api + "booking_record"] if apart else value_of(tables, api + "booking_record")
    booking = held.get(arguments["booking_id"])
    if booking is None:
        return {"value": {"cancel_status": False, "error": "Booking not found"}}
    rest = {key: one for key, one in held.items() if key != arguments["booking_id"]}
    change = setting(api + "booking_record", rest)
    if apart:
        change = {"kind": "delete", "table": api + "booking_record", "key": arguments["booking_id"]}
    operations = [change]
    card = tables[api + "credit_card_list"].get(booking["card_id"])
    if card:
        paid = {**card, "balance": card["balance"] + booking["travel_cost"]}
        operations.append({"kind": "put", "table": api + "credit_card_list", "record": paid})
    return {"value": {"cancel_status": True}, "operations": operations}
""",
    "retrieve_invoice": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "TravelAPI."
    if arguments["access_token"] != value_of(tables, api + "access_token"):
        return {"value": {"error": "Invalid access token"}}
    held = tables.get(api + "booking_record")
    held = value_of(tables, api + "booking_record") if held is None else held
    key = arguments.get("booking_id", "None")
    if key not in held:
        return {"value": {"error": "Booking not found"}}
    names = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id")
    return {"value": {"invoice": {"booking_id": key, **{one: held[key][one] for one in names}}}}
""",
    "send_message": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    import random
    api, to = "MessageAPI.", arguments["receiver_id"]
    if value_of(tables, api + "current_user") is None:
        return {"value": {"error": "No user is currently logged in."}}
    if to not in value_of(tables, api + "user_map").values():
        return {"value": {"error": "Receiver ID '" + to + "' not found."}}
    number = random.Random(seed).randint(10000, 99999)
    place = str(len(tables[api + "inbox"]))
    ids = value_of(tables, api + "generated_ids")
    ids = "{" + str(number) + "}" if ids == "set()" else ids[:-1] + ", " + str(number) + "}"
    operations = [
        {"kind": "put", "table": api + "inbox", "record": {"position": place, to: arguments["message"]}},
        setting(api + "generated_ids", ids),
        setting(api + "message_count", value_of(tables, api + "message_count") + 1),
    ]
    text = "Message sent to '" + to + "' successfully."
    value = {"sent_status": True, "message_id": {"new_id": number}, "message": text}
    return {"value": value, "operations": operations}
""",
    "view_messages_sent": SETTINGS
    + """
def answer(arguments, tables, now, seed):
    api = "MessageAPI."
    if value_of(tables, api + "current_user") is None:
        return {"value": {"error": "No user is currently logged in."}}
    sent = {}
    for record in tables[api + "inbox"].values():
        for key, text in record.items():
            if key != "position":
                sent.setdefault(key, []).append(text)
    return {"value": {"messages": sent}}
""",
    "displayCarStatus": SETTINGS
    + """
METADATA = @LEARNT@

GROUPS = {
    "fuel": ["fuelLevel"],
    "battery": ["batteryVoltage"],
    "doors": ["doorStatus"],
    "climate": {"currentACTemperature": "acTemperature", "fanSpeed": "fanSpeed",
                "climateMode": "acMode", "humidityLevel": "humidityLevel"},
    "headlights": {"headlightStatus": "headLightStatus"},
    "parkingBrake": {"parkingBrakeStatus": "parkingBrakeStatus", "parkingBrakeForce": "_parkingBrakeForce",
                     "slopeAngle": "_slopeAngle"},
    "brakePedal": {"brakePedalStatus": "brakePedalStatus", "brakePedalForce": "_brakePedalForce"},
    "engine": {"engineState": "engine_state", "fuelLevel": "fuelLevel", "batteryVoltage": "batteryVoltage"},
}

def answer(arguments, tables, now, seed):
    names = GROUPS.get(arguments["option"])
    if names is None:
        long = value_of(tables, "VehicleControlAPI.long_context")
        more = {"metadata": METADATA} if long else {}
        return {"value": {**more, "error": "Invalid option"}}
    names = {one: one for one in names} if isinstance(names, list) else names
    value = {key: value_of(tables, "VehicleControlAPI." + one) for key, one in names.items()}
    if value_of(tables, "VehicleControlAPI.long_context"):
        value["metadata"] = METADATA
    return {"value": value}
""",
}


def is_list(value: Any) -> bool:
    return isinstance(value, list)


LEARNT: dict[str, Callable[[Any], Any]] = {
    "check_tire_pressure": lambda value: value["car_info"] or None,
    "get_watchlist": lambda value: value[1:] if is_list(value) and "NVDA" == value[0] else None,
    "get_stock_info": lambda value: (
        {key: one for key, one in value.items() if is_list(one)} or None
    ),
    "displayCarStatus": lambda value: value.get("metadata"),
}
"""Long constants that the recordings show, found in the answers of the author's part."""


def program_for(tool: str, answers: list[str]) -> str:
    """The program of a tool, with the constants that answers of the author's part show."""
    code = PROGRAMS[tool]
    if tool in LEARNT:
        found: list[Any] = [LEARNT[tool](json.loads(text)) for text in answers]
        code = code.replace("@LEARNT@", repr(next((one for one in found if one), None)))
    return code
