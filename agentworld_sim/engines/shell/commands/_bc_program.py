"""The language of `bc`: reading a program and running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.commands._decimal import DivisionByZero, Number, parsed, shown

_TOKEN = re.compile(
    r'(?P<skip>[ \t]+|\\\n|/\*.*?\*/|#[^\n]*)|(?P<string>"[^"]*")'
    r"|(?P<number>[0-9A-F]+\.?[0-9A-F]*|\.[0-9A-F]+)|(?P<name>\.|[a-z][a-z0-9_]*)"
    r"|(?P<op>\+\+|--|[-+*/%^]=|==|<=|>=|!=|&&|\|\||[-+*/%^=<>!(){}\[\],;\n])",
    re.DOTALL,
)
_ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "^="})
_WORDS = frozenset(
    [
        "auto",
        "break",
        "continue",
        "define",
        "else",
        "for",
        "halt",
        "if",
        "last",
        "length",
        "limits",
        "print",
        "quit",
        "read",
        "return",
        "scale",
        "sqrt",
        "while",
        "ibase",
        "obase",
        "warranty",
    ]
)
_FUEL = 5_000_000


class SyntaxFailure(Exception):
    """The line cannot be read."""


class Failure(Exception):
    """A runtime error, in bc's words."""


class Stop(Exception):
    """`quit` or `halt`."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
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


def tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            yield "bad", text[at]
            at += 1
            continue
        at = found.end()
        kind = found.lastgroup or ""
        if kind != "skip":
            yield kind, found[0]
    yield "op", "\n"
    yield "end", ""


class Reader:
    """Reads statements. `line` counts for messages."""

    def __init__(self, text: str) -> None:
        self.items = list(tokens(text))
        self.at = 0
        self.line = 1

    def peek(self) -> tuple[str, str]:
        return self.items[self.at]

    def next(self) -> tuple[str, str]:
        item = self.items[self.at]
        if item[0] != "end":
            self.at += 1
        if item == ("op", "\n"):
            self.line += 1
        return item

    def is_(self, *texts: str) -> bool:
        kind, text = self.peek()
        return kind in ("op", "name") and text in texts

    def take(self, *texts: str) -> str | None:
        return self.next()[1] if self.is_(*texts) else None

    def need(self, text: str) -> None:
        if not self.take(text):
            raise SyntaxFailure

    def newlines(self) -> None:
        while self.take("\n"):
            pass

    def recover(self) -> None:
        """Skips the line with the error."""
        while self.peek()[0] != "end" and self.next() != ("op", "\n"):
            pass

    # Statements

    def item(self) -> Statement | None:
        """One line's statements, or a definition; `None` at the end."""
        while self.take("\n", ";"):
            pass
        if self.peek()[0] == "end":
            return None
        if self._quits():
            raise Stop
        if self.take("define"):
            return self.define()
        statement = self.statement()
        if not self.is_("\n", ";") and self.peek()[0] != "end":
            raise SyntaxFailure
        return statement

    def _quits(self) -> bool:
        """`quit` ends bc when it is read, before anything of its line runs."""
        at = self.at
        while self.items[at] not in (("op", "\n"), ("end", "")):
            if self.items[at] == ("name", "quit"):
                return True
            at += 1
        return False

    def statement(self) -> Statement:
        kind, text = self.peek()
        if kind == "string":
            self.next()
            return lambda m: m.out.append(text[1:-1])
        simple: dict[str, Callable[[], Statement]] = {
            "{": self.block, "if": self.if_, "while": self.while_, "for": self.for_,
            "print": self.print_, "return": self.return_,
        }  # fmt: skip
        if kind in ("op", "name") and text in simple:
            self.next()
            return simple[text]()
        raises: dict[str, type[Exception]] = {
            "break": _Break, "continue": _Continue, "halt": Stop, "quit": Stop,
        }  # fmt: skip
        if kind == "name" and text in raises:
            self.next()
            return _raising(raises[text])
        return self.shown_expression()

    def shown_expression(self) -> Statement:
        start = self.at
        node = self.expression()
        quiet = self._assigns(start)

        def run(machine: Machine) -> None:
            value = node(machine)
            if not quiet:
                machine.values["last"] = value
                machine.show(value)

        return run

    def _assigns(self, start: int) -> bool:
        """Whether the expression just read is an assignment, which prints nothing."""
        if self.items[start][0] != "name":
            return False
        at = start + 1
        if self.items[at] == ("op", "["):
            depth = 0
            while at < self.at:
                depth += (self.items[at][1] == "[") - (self.items[at][1] == "]")
                at += 1
                if not depth:
                    break
        return self.items[at][0] == "op" and self.items[at][1] in _ASSIGN

    def block(self) -> Statement:
        body: list[Statement] = []
        while True:
            while self.take("\n", ";"):
                pass
            if self.take("}"):
                break
            if self.peek()[0] == "end":
                raise SyntaxFailure
            body.append(self.statement())

        def run(machine: Machine) -> None:
            for statement in body:
                statement(machine)

        return run

    def if_(self) -> Statement:
        self.need("(")
        test = self.expression()
        self.need(")")
        self.newlines()
        then = self.statement()
        mark, line = self.at, self.line
        while self.take("\n", ";"):
            pass
        other: Statement | None = None
        if self.take("else"):
            self.newlines()
            other = self.statement()
        else:
            self.at, self.line = mark, line

        def run(machine: Machine) -> None:
            if test(machine).truth:
                then(machine)
            elif other is not None:
                other(machine)

        return run

    def while_(self) -> Statement:
        self.need("(")
        test = self.expression()
        self.need(")")
        self.newlines()
        return _loop(test, self.statement(), None)

    def for_(self) -> Statement:
        parts: list[Node | None] = []
        self.need("(")
        for end in (";", ";", ")"):
            parts.append(None if self.is_(end) else self.expression())
            self.need(end)
        self.newlines()
        loop = _loop(parts[1], self.statement(), parts[2])

        def run(machine: Machine) -> None:
            if parts[0] is not None:
                parts[0](machine)
            loop(machine)

        return run

    def print_(self) -> Statement:
        shows: list[Statement] = []
        while True:
            kind, text = self.peek()
            if kind == "string":
                self.next()
                shows.append(_saying(_unescaped(text[1:-1])))
            else:
                node = self.expression()
                shows.append(_showing(node))
            if not self.take(","):
                break

        def run(machine: Machine) -> None:
            for show in shows:
                show(machine)

        return run

    def return_(self) -> Statement:
        node = None if self.is_(";", "\n", "}") else self.expression()

        def run(machine: Machine) -> None:
            raise _Return(node(machine) if node else Number(0))

        return run

    def define(self) -> Statement:
        self.take("void")
        kind, name = self.next()
        if kind != "name":
            raise SyntaxFailure
        self.need("(")
        parameters = self.names(")")
        self.newlines()
        self.need("{")
        self.newlines()
        own: list[str] = []
        if self.take("auto"):
            own = self.names(";", "\n")
        body = self.block()

        def run(machine: Machine) -> None:
            machine.functions[name] = Function(parameters, own, body)

        return run

    def names(self, *ends: str) -> list[str]:
        found: list[str] = []
        while not self.take(*ends):
            kind, text = self.next()
            if kind == "name":
                found.append(text + ("[]" if self.take("[") and self.take("]") else ""))
            elif text != ",":
                raise SyntaxFailure
        return found

    # Expressions

    def expression(self) -> Node:
        left = self.and_()
        while self.take("||"):
            left = _logic(left, self.and_(), any_=True)
        return left

    def and_(self) -> Node:
        left = self.not_()
        while self.take("&&"):
            left = _logic(left, self.not_(), any_=False)
        return left

    def not_(self) -> Node:
        if self.take("!"):
            inner = self.not_()
            return lambda m: Number(int(not inner(m).truth))
        return self.compare()

    def compare(self) -> Node:
        left = self.sum()
        while operator := self.take("<", ">", "<=", ">=", "==", "!="):
            left = _comparison(operator, left, self.sum())
        return left

    def sum(self) -> Node:
        left = self.product()
        while operator := self.take("+", "-"):
            left = _arithmetic(operator, left, self.product())
        return left

    def product(self) -> Node:
        left = self.power()
        while operator := self.take("*", "/", "%"):
            left = _arithmetic(operator, left, self.power())
        return left

    def power(self) -> Node:
        left = self.unary()
        if self.take("^"):
            return _arithmetic("^", left, self.power())
        return left

    def unary(self) -> Node:
        if self.take("-"):
            inner = self.unary()
            return lambda m: inner(m).negated()
        if step := self.take("++", "--"):
            place = self.place()
            return place.stepped(1 if step == "++" else -1, before=True)
        return self.primary()

    def primary(self) -> Node:
        kind, text = self.peek()
        if kind == "number":
            self.next()
            return lambda m: parsed(text, m.get("ibase").whole)
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return inner
        if kind != "name":
            raise SyntaxFailure
        if text in ("length", "sqrt", "scale") and self.items[self.at + 1] == ("op", "("):
            return self.builtin()
        if self.items[self.at + 1] == ("op", "(") and text not in _WORDS:
            return self.call()
        place = self.place()
        if operator := self.take(*_ASSIGN):
            return place.assigned(operator, self.expression())
        if step := self.take("++", "--"):
            return place.stepped(1 if step == "++" else -1, before=False)
        return place.get

    def builtin(self) -> Node:
        name = self.next()[1]
        self.need("(")
        inner = self.expression()
        self.need(")")
        if name == "length":
            return lambda m: Number(inner(m).length())
        if name == "scale":
            return lambda m: Number(inner(m).scale)

        def root(machine: Machine) -> Number:
            value = inner(machine)
            if value.digits < 0:
                raise Failure("Square root of a negative number")
            return value.root(machine.scale)

        return root

    def call(self) -> Node:
        name = self.next()[1]
        self.need("(")
        arguments: list[Node] = []
        while not self.take(")"):
            arguments.append(self.expression())
            if not self.is_(")"):
                self.need(",")
        return _called(name, arguments)

    def place(self) -> Place:
        kind, name = self.next()
        if kind != "name" or (name in _WORDS and name not in ("scale", "ibase", "obase", "last")):
            raise SyntaxFailure
        if self.take("["):
            index = self.expression()
            self.need("]")
            return Place(name, index)
        return Place("last" if name == "." else name)


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
        changed = _arithmetic(operator[0], self.get, node)
        return lambda m: self.put(m, changed(m))

    def stepped(self, step: int, *, before: bool) -> Node:
        def run(machine: Machine) -> Number:
            old = self.get(machine)
            new = self.put(machine, old.plus(Number(step)))
            return new if before else old

        return run


def _raising(failure: type[Exception]) -> Statement:
    def run(machine: Machine) -> None:
        raise failure

    return run


def _saying(text: str) -> Statement:
    return lambda m: m.out.append(text)


def _showing(node: Node) -> Statement:
    return lambda m: m.show(node(m), "")


def _unescaped(text: str) -> str:
    table = {"n": "\n", "t": "\t", "\\": "\\", "q": '"', "a": "\a", "b": "\b", "f": "\f", "r": "\r"}
    return re.sub(r"\\(.)", lambda found: table.get(found[1], found[0]), text)


def _loop(test: Node | None, body: Statement, after: Node | None) -> Statement:
    def run(machine: Machine) -> None:
        while test is None or test(machine).truth:
            machine.burn()
            try:
                body(machine)
            except _Break:
                return
            except _Continue:
                pass
            if after is not None:
                after(machine)

    return run


def _logic(left: Node, right: Node, *, any_: bool) -> Node:
    def run(machine: Machine) -> Number:
        a, b = left(machine).truth, right(machine).truth
        return Number(int(a or b if any_ else a and b))

    return run


def _comparison(operator: str, left: Node, right: Node) -> Node:
    holds = {
        "<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1), "==": (0,), "!=": (-1, 1),
    }[operator]  # fmt: skip
    return lambda m: Number(int(left(m).order(right(m)) in holds))


def _arithmetic(operator: str, left: Node, right: Node) -> Node:
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


def _called(name: str, arguments: list[Node]) -> Node:
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
        except _Return as result:
            return result.value
        finally:
            for own, old in kept.items():
                if old is None:
                    machine.values.pop(own, None)
                else:
                    machine.values[own] = old
        return Number(0)

    return run
