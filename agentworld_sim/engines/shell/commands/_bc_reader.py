"""Reading the language of `bc`."""

from __future__ import annotations

from collections.abc import Callable

from agentworld_sim.engines.shell.commands._bc_machine import (
    Break,
    Continue,
    Failure,
    Function,
    Machine,
    Node,
    Place,
    Return,
    Statement,
    Stop,
    SyntaxFailure,
    arithmetic,
    called,
    comparison,
    logic,
    loop,
    raising,
    saying,
    showing,
    unescaped,
)
from agentworld_sim.engines.shell.commands._bc_tokens import ASSIGN, WORDS, tokens
from agentworld_sim.engines.shell.commands._decimal import Number, parsed


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
            "break": Break, "continue": Continue, "halt": Stop, "quit": Stop,
        }  # fmt: skip
        if kind == "name" and text in raises:
            self.next()
            return raising(raises[text])
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
        return self.items[at][0] == "op" and self.items[at][1] in ASSIGN

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
        return loop(test, self.statement(), None)

    def for_(self) -> Statement:
        parts: list[Node | None] = []
        self.need("(")
        for end in (";", ";", ")"):
            parts.append(None if self.is_(end) else self.expression())
            self.need(end)
        self.newlines()
        repeat = loop(parts[1], self.statement(), parts[2])

        def run(machine: Machine) -> None:
            if parts[0] is not None:
                parts[0](machine)
            repeat(machine)

        return run

    def print_(self) -> Statement:
        shows: list[Statement] = []
        while True:
            kind, text = self.peek()
            if kind == "string":
                self.next()
                shows.append(saying(unescaped(text[1:-1])))
            else:
                node = self.expression()
                shows.append(showing(node))
            if not self.take(","):
                break

        def run(machine: Machine) -> None:
            for show in shows:
                show(machine)

        return run

    def return_(self) -> Statement:
        node = None if self.is_(";", "\n", "}") else self.expression()

        def run(machine: Machine) -> None:
            raise Return(node(machine) if node else Number(0))

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
            left = logic(left, self.and_(), any_=True)
        return left

    def and_(self) -> Node:
        left = self.not_()
        while self.take("&&"):
            left = logic(left, self.not_(), any_=False)
        return left

    def not_(self) -> Node:
        if self.take("!"):
            inner = self.not_()
            return lambda m: Number(int(not inner(m).truth))
        return self.compare()

    def compare(self) -> Node:
        left = self.sum()
        while operator := self.take("<", ">", "<=", ">=", "==", "!="):
            left = comparison(operator, left, self.sum())
        return left

    def sum(self) -> Node:
        left = self.product()
        while operator := self.take("+", "-"):
            left = arithmetic(operator, left, self.product())
        return left

    def product(self) -> Node:
        left = self.power()
        while operator := self.take("*", "/", "%"):
            left = arithmetic(operator, left, self.power())
        return left

    def power(self) -> Node:
        left = self.unary()
        if self.take("^"):
            return arithmetic("^", left, self.power())
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
        if self.items[self.at + 1] == ("op", "(") and text not in WORDS:
            return self.call()
        place = self.place()
        if operator := self.take(*ASSIGN):
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
        return called(name, arguments)

    def place(self) -> Place:
        kind, name = self.next()
        if kind != "name" or (name in WORDS and name not in ("scale", "ibase", "obase", "last")):
            raise SyntaxFailure
        if self.take("["):
            index = self.expression()
            self.need("]")
            return Place(name, index)
        return Place("last" if name == "." else name)
