"""What is drawn for the tasks of each family: the values that stand in `families.yaml`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WORK = "/srv/work"
WORDS = "amber basin cedar delta ember fjord grove heron inlet juniper krill larch".split()
CITIES = ("Basel", "Cork", "Gdansk", "Lyon", "Porto", "Turku")
OWNERS = ("ada", "ben", "cleo", "dev")
TITLES = (
    "Printer jams|Slow login|Broken link|Lost mail|Wrong total|Old logo|No sound|Crash on save"
).split("|")
ITEMS = "Anvil Broom Candle Drum Easel Flute Globe Hammock".split()
NOTES = ("Ring twice.", "Leave it at the door.", "Please wrap it.", "Call before.")

Values = dict[str, Any]


def _file(name: str, **condition: Any) -> Values:
    return {"file": f"{WORK}/{name}", **condition}


def _lines(rows: Sequence[Any]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _sales(chance: random.Random) -> list[tuple[str, str, int]]:
    """City, article and amount; amounts of different lengths, so that their order as text is another one."""
    rows = [
        (chance.choice(CITIES), chance.choice(WORDS), amount)
        for amount in chance.sample(range(5, 3000), chance.randint(14, 30))
    ]
    return [*rows, ("Cork", "amber", 9), ("Lyon", "basin", 10)]


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    return _lines(["city,article,amount", *(",".join(map(str, row)) for row in rows)])


def _tickets(chance: random.Random) -> list[Values]:
    first = chance.randint(100, 900)
    return [
        {
            "id": first + 4 * number + chance.randint(0, 3),
            "title": title,
            "owner": OWNERS[number % 4],
            "priority": chance.randint(2, 5),
            "status": "closed" if number % 3 == 2 else "open",
        }
        for number, title in enumerate(chance.sample(TITLES, len(TITLES)))
    ]


def _records(tickets: list[Values]) -> Values:
    first = tickets[0]["id"]
    return {"tickets": tickets, "comments": [{"id": 7, "ticket": first, "text": "Seen."}]}


def _items(chance: random.Random) -> list[Values]:
    names = chance.sample(ITEMS, len(ITEMS))
    prices = chance.sample(range(3, 200), len(names))
    return [
        {"id": number, "name": name, "price": price, "kind": "used"}
        for number, (name, price) in enumerate(zip(names, prices, strict=True), 1)
    ]


def count_errors(chance: random.Random) -> Values:
    levels = chance.choices(("INFO", "WARN", "ERROR"), (6, 2, 2), k=chance.randint(40, 90))
    levels += ["ERROR", "INFO"]
    said = ("request served", "no errors so far", "disk ERROR rate 0", "retry in 5 s", "cache cold")
    log = [
        f"2026-02-{3 + n // 30:02} {n % 24:02}:{chance.randint(10, 59)} {level} {chance.choice(WORDS)}: {chance.choice(said)}"
        for n, level in enumerate(levels)
    ]
    last = "2026-02-09 10:00 INFO amber: disk ERROR rate 0"
    return {"log": _lines([*log, last]), "count": levels.count("ERROR")}


def busiest_address(chance: random.Random) -> Values:
    most = f"10.0.0.{chance.randint(2, 9)}"
    others = [f"10.0.1.{n}" for n in range(1, 9) for _ in range(chance.randint(1, 10))]
    hits = [most] * 12 + others + ["10.0.1.200"]
    chance.shuffle(hits)
    log = [f"{one} GET /{chance.choice(WORDS)} 200" for one in hits]
    return {"log": _lines(log), "most": most}


def sum_amounts(chance: random.Random) -> Values:
    rows, city = _sales(chance), chance.choice(CITIES[1:4:2])
    total = sum(amount for where, _, amount in rows if where == city)
    return {"sales": _csv(rows), "city": city, "total": total}


def sort_table(chance: random.Random) -> Values:
    rows = _sales(chance)
    return {"sales": _csv(rows), "ordered": _csv(sorted(rows, key=lambda row: -row[2]))}


def split_table(chance: random.Random) -> Values:
    by, rows = dict[str, list[str]](), _sales(chance)
    for row in rows:
        by.setdefault(row[0], []).append(",".join(map(str, row)))
    goals = [_file(f"by-city/{one}.csv", equals=_lines(some)) for one, some in by.items()]
    return {"sales": _csv(rows), "goals": [*goals, _file("by-city/city.csv", exists=False)]}


def replace_word(chance: random.Random) -> Values:
    old, new = chance.sample(WORDS[:6], 2)
    ends = chance.choices(WORDS[6:], k=6)
    text, after = (
        _lines([f"The {one} and the {old}s; {one} again. {end}" for end in ends])
        for one in (old, new)
    )
    return {"old": old, "new": new, "text": text, "after": after}


def change_port(chance: random.Random) -> Values:
    port = chance.randint(2000, 9000)
    return {"port": port, "other": port - 1, "name": chance.choice(WORDS)}


def rename_notes(chance: random.Random) -> Values:
    names = chance.sample(WORDS, 5)
    index = _lines(sorted([*(f"{one}.md" for one in names), "keep.csv"]))
    return {
        "files": {f"{WORK}/notes/{one}.txt": f"{one}\n" for one in names}
        | {f"{WORK}/notes/keep.csv": "a,b\n"},
        "goals": [_file("index.txt", equals=index)]
        + [_file(f"notes/{one}.md", equals=f"{one}\n") for one in names],
    }


def archive_done(chance: random.Random) -> Values:
    states = {
        one: "done" if number < 3 else "open" for number, one in enumerate(chance.sample(WORDS, 6))
    }
    return {
        "tasks": {
            f"{WORK}/tasks/{one}.md": f"status: {state}\n\nnot status: done yet\n"
            for one, state in states.items()
        },
        "goals": [
            _file(f"{folder}/{one}.md", exists=state == wanted)
            for folder, wanted in (("archive", "done"), ("tasks", "open"))
            for one, state in states.items()
        ],
    }


def current_release(chance: random.Random) -> Values:
    minor = chance.sample(range(2, 9), 2)
    newest = f"v1.{chance.randint(10, 14)}.1"
    versions = [*(f"v1.{one}.0" for one in minor), newest, "v1.9.9"]
    files: Values = {f"{WORK}/releases/{one}/VERSION": f"{one}\n" for one in versions}
    files[f"{WORK}/current"] = {"link": f"releases/{versions[0]}"}
    return {"releases": files, "newest": newest}


def shell_project(chance: random.Random) -> Values:
    factor, name = chance.randint(2, 9), chance.choice(WORDS)
    return {"name": name, "wrong": factor + 1, "of4": 4 * factor, "of10": 10 * factor}


def python_project(chance: random.Random) -> Values:
    name, limit = chance.choice(WORDS), chance.randint(3, 60)
    return {"name": name, "below": limit - 1, "limit": limit, "above": limit + 1}


def hand_over(chance: random.Random) -> Values:
    tickets = _tickets(chance)
    one, owner = chance.choice(tickets), chance.choice(OWNERS)
    owner = "eve" if one["owner"] == owner else owner
    return {**_records(tickets), "ticket": one["id"], "title": one["title"], "owner": owner}


def file_two(chance: random.Random) -> Values:
    owner, level = chance.choice(OWNERS), chance.randint(1, 5)
    title = f"Order {chance.randint(10, 99)} is late"
    return {"owner": owner, "level": level, "title": title, **_records(_tickets(chance))}


def note_count(chance: random.Random) -> Values:
    tickets = _tickets(chance)[: chance.randint(4, 8)]
    count = sum(one["status"] == "open" for one in tickets)
    return {**_records(tickets), "ticket": tickets[0]["id"], "count": count}


def change_item(chance: random.Random) -> Values:
    items = _items(chance)
    one, price = chance.choice(items), chance.randint(201, 900)
    digits = str(price)
    return {"items": items, **one, "price": price, "digits": digits, "wrong": digits[:-1]}


def send_order(chance: random.Random) -> Values:
    name, note = chance.choice(ITEMS), chance.choice(NOTES)
    return {"name": name, "note": note, "size": chance.choice("SL"), "items": _items(chance)}


def delete_item(chance: random.Random) -> Values:
    items = _items(chance)
    one = chance.choice(items)
    return {"items": items, **one, "text": one["name"].lower()}


def order_by_price(chance: random.Random) -> Values:
    items = _items(chance)
    return {"items": items, **chance.choice(items)}


DRAW: Mapping[str, Callable[[random.Random], Values]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        *(count_errors, busiest_address, sum_amounts, sort_table, split_table, replace_word),
        *(change_port, rename_notes, archive_done, current_release, shell_project, python_project),
        *(hand_over, file_two, note_count, change_item, send_order, delete_item, order_by_price),
    )
}
"""By family."""
