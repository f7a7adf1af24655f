"""`bc` of GNU bc."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, Endless
from agentworld_sim.engines.shell.commands._bc_machine import (
    Failure,
    Machine,
    Stop,
    SyntaxFailure,
)
from agentworld_sim.engines.shell.commands._bc_reader import Reader
from agentworld_sim.engines.shell.commands._decimal import Number
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool, why

_OPTIONS = Options(
    "hilqsvw",
    {
        "help": "h", "interactive": "i", "mathlib": "l", "quiet": "q", "standard": "s",
        "version": "v", "warn": "w",
    },
    help_hint=False,
)  # fmt: skip

_LIBRARY = """
define e(x) {
  auto a, d, e, f, i, m, n, v, z
  if (x<0) { m = 1; x = -x }
  z = scale; n = 6 + z + .44*x; scale = scale(x)+1
  while (x > 1) { f += 1; x /= 2; scale += 1 }
  scale = n; v = 1+x; a = x; d = 1
  for (i=2; 1; i++) {
    e = (a *= x) / (d *= i)
    if (e == 0) {
      if (f>0) while (f--)  v = v*v;
      scale = z
      if (m) return (1/v);
      return (v/1);
    }
    v += e
  }
}
define l(x) {
  auto e, f, i, m, n, v, z
  if (x <= 0) return ((1 - 10^scale)/1)
  z = scale; scale = 6 + scale; f = 2; i=0
  while (x >= 2) { f *= 2; x = sqrt(x); }
  while (x <= .5) { f *= 2; x = sqrt(x); }
  v = n = (x-1)/(x+1); m = n*n
  for (i=3; 1; i+=2) {
    e = (n *= m) / i
    if (e == 0) { v = f*v; scale = z; return (v/1) }
    v += e
  }
}
define s(x) {
  auto e, i, m, n, s, v, z
  z = scale; scale = 1.1*z + 2; v = a(1)
  if (x < 0) { m = 1; x = -x }
  scale = 0; n = (x / v + 2 )/4; x = x - 4*n*v
  if (n%2) x = -x
  scale = z + 2; v = e = x; s = -x*x
  for (i=3; 1; i+=2) {
    e *= s/(i*(i-1))
    if (e == 0) { scale = z; if (m) return (-v/1); return (v/1); }
    v += e
  }
}
define c(x) {
  auto v, z
  z = scale; scale = scale*1.2; v = s(x+a(1)*2); scale = z
  return (v/1);
}
define a(x) {
  auto a, e, f, i, m, n, s, v, z
  m = 1; if (x<0) { m = -1; x = -x; }
  if (x==1) {
    if (scale <= 25) return (.7853981633974483096156608/m)
    if (scale <= 40) return (.7853981633974483096156608458198757210492/m)
  }
  if (x==.2) {
    if (scale <= 25) return (.1973955598498807583700497/m)
    if (scale <= 40) return (.1973955598498807583700497651947902934475/m)
  }
  z = scale
  if (x > .2)  { scale = z+5; a = a(.2); }
  scale = z+3
  while (x > .2) { f += 1; x = (x-.2) / (1+x*.2); }
  v = n = x; s = -x*x
  for (i=3; 1; i+=2) {
    e = (n *= s) / i;
    if (e == 0) { scale = z; return ((f*a+v)/m); }
    v += e
  }
}
"""
"""Sine, cosine, arctangent, logarithm, exponential: series cut as GNU's library cuts them."""


@tool
def bc(running: Tool) -> None:
    given = _OPTIONS.parse(running.name, running.call.argv)
    machine = Machine()
    length = running.call.env.get("BC_LINE_LENGTH", "")
    if length.isdigit():
        machine.line_length = int(length)
    if "l" in given:
        _run(running, machine, _LIBRARY, "(library)")
        machine.set("scale", Number(20))
        machine.fuel = Machine().fuel
    try:
        for name in given.operands:
            try:
                data = running.files.read(running.path(name)).decode("utf-8", "replace")
            except OSError:
                running.err.append(f"File {name} is unavailable.\n")
                running.code = 1
                return
            _run(running, machine, data, name)
        _run(running, machine, running.call.stdin or "", "(standard_in)")
    except Stop:
        pass
    except OSError as error:
        running.complain(why(error))
    finally:
        running.out.extend(machine.out)
        machine.out.clear()


def _run(running: Tool, machine: Machine, text: str, name: str) -> None:
    reader = Reader(text)
    while True:
        try:
            statement = reader.item()
            if statement is None:
                return
            statement(machine)
        except SyntaxFailure:
            kind, char = reader.peek()
            running.out.extend(machine.out)
            machine.out.clear()
            if kind == "bad":
                running.err.append(f"{name} {reader.line}: illegal character: {char}\n")
            # The newline has been read when it is the one that does not fit.
            line = reader.line + (reader.peek() == ("op", "\n"))
            running.err.append(f"{name} {line}: syntax error\n")
            reader.recover()
        except Failure as failure:
            if str(failure) == "endless":
                raise Endless from None
            running.out.extend(machine.out)
            machine.out.clear()
            running.err.append(f"Runtime error (func=(main), adr={3}): {failure}\n")
            reader.recover()
        except RecursionError:
            raise Endless from None


COMMANDS: Mapping[str, Command] = {"bc": bc}
