"""Running a `bc` program: its variables, and what its expressions and statements do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.commands._decimal import DivisionByZero, Number, shown

_FUEL = 5_000_000


class SyntaxFailure(Exception):
    """The line cannot be read."""


class Failure(Exception):
    """A runtime error, in bc's words."""


class Stop(Exception):
    """`quit` or `halt`."""


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    def __init__(self, value: Number) -> None:
        self.value = value


Node = Callable[["Machine"], Number]
Statement = Callable[["Machine"], None]


@dataclass(slots=True)
class Function:
    parameters: list[str]
    locals: list[str]
    body: Statement


@dataclass(slots=True)
class Machine:
    """Variables, functions and output of one run."""

    out: list[str] = field(default_factory=list[str])
    values: dict[str, Number] = field(default_factory=dict[str, Number])
    arrays: dict[tuple[str, int], Number] = field(default_factory=dict[tuple[str, int], Number])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    fuel: int = _FUEL
    column: int = 0
    line_length: int = 70

    def get(self, name: str) -> Number:
        return self.values.get(name, Number(10) if name in ("ibase", "obase") else Number(0))

    def set(self, name: str, value: Number) -> None:
        if name == "scale" and value.digits < 0:
            self.out.append("")
            value = Number(0)
        if name in ("ibase", "obase"):
            value = Number(max(2, min(16, value.whole) if name == "ibase" else value.whole))
        self.values[name] = Number(value.whole) if name == "scale" else value

    @property
    def scale(self) -> int:
        return self.get("scale").whole

    def burn(self) -> None:
        self.fuel -= 1
        if self.fuel < 0:
            raise Failure("endless")

    def show(self, value: Number, end: str = "\n") -> None:
        text = shown(value, self.get("obase").whole)
        width = self.line_length - 1
        if self.line_length and len(text) > width:
            text = "\\\n".join(text[i : i + width] for i in range(0, len(text), width))
        self.out.append(text + end)


@dataclass(frozen=True, slots=True)
class Place:
    """A variable or an element of an array."""

    name: str
    index: Node | None = None

    def get(self, machine: Machine) -> Number:
        if self.index is None:
            return machine.get(self.name)
        return machine.arrays.get((self.name, self.index(machine).whole), Number(0))

    def put(self, machine: Machine, value: Number) -> Number:
        if self.index is None:
            machine.set(self.name, value)
        else:
            machine.arrays[self.name, self.index(machine).whole] = value
        return value

    def assigned(self, operator: str, node: Node) -> Node:
        if operator == "=":
            return lambda m: self.put(m, node(m))
        changed = arithmetic(operator[0], self.get, node)
        return lambda m: self.put(m, changed(m))

    def stepped(self, step: int, *, before: bool) -> Node:
        def run(machine: Machine) -> Number:
            old = self.get(machine)
            new = self.put(machine, old.plus(Number(step)))
            return new if before else old

        return run


def raising(failure: type[Exception]) -> Statement:
    def run(machine: Machine) -> None:
        raise failure

    return run


def saying(text: str) -> Statement:
    return lambda m: m.out.append(text)


def showing(node: Node) -> Statement:
    return lambda m: m.show(node(m), "")


def unescaped(text: str) -> str:
    table = {"n": "\n", "t": "\t", "\\": "\\", "q": '"', "a": "\a", "b": "\b", "f": "\f", "r": "\r"}
    return re.sub(r"\\(.)", lambda found: table.get(found[1], found[0]), text)


def loop(test: Node | None, body: Statement, after: Node | None) -> Statement:
    def run(machine: Machine) -> None:
        while test is None or test(machine).truth:
            machine.burn()
            try:
                body(machine)
            except Break:
                return
            except Continue:
                pass
            if after is not None:
                after(machine)

    return run


def logic(left: Node, right: Node, *, any_: bool) -> Node:
    def run(machine: Machine) -> Number:
        a, b = left(machine).truth, right(machine).truth
        return Number(int(a or b if any_ else a and b))

    return run


def comparison(operator: str, left: Node, right: Node) -> Node:
    holds = {
        "<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1), "==": (0,), "!=": (-1, 1),
    }[operator]  # fmt: skip
    return lambda m: Number(int(left(m).order(right(m)) in holds))


def arithmetic(operator: str, left: Node, right: Node) -> Node:
    def run(machine: Machine) -> Number:
        machine.burn()
        a, b, scale = left(machine), right(machine), machine.scale
        try:
            match operator:
                case "+":
                    return a.plus(b)
                case "-":
                    return a.minus(b)
                case "*":
                    return a.times(b, scale)
                case "/":
                    return a.over(b, scale)
                case "%":
                    return a.modulo(b, scale)
                case _:
                    return a.power(b, scale)
        except DivisionByZero:
            raise Failure("Modulo by zero" if operator == "%" else "Divide by zero") from None

    return run


def called(name: str, arguments: list[Node]) -> Node:
    def run(machine: Machine) -> Number:
        machine.burn()
        function = machine.functions.get(name)
        if function is None:
            raise Failure(f"Function {name} not defined.")
        if len(arguments) != len(function.parameters):
            raise Failure("Parameter number mismatch")
        values = [argument(machine) for argument in arguments]
        names = [*function.parameters, *function.locals]
        kept = {own: machine.values.get(own) for own in names}
        machine.values.update(zip(function.parameters, values, strict=True))
        machine.values.update((own, Number(0)) for own in function.locals)
        try:
            function.body(machine)
        except Return as result:
            return result.value
        finally:
            for own, old in kept.items():
                if old is None:
                    machine.values.pop(own, None)
                else:
                    machine.values[own] = old
        return Number(0)

    return run
