"""Cassettes: recorded traffic that seeds or replays a world."""

from agentworld_sim.cassette._cassette import Cassette, Recorder
from agentworld_sim.cassette._file import is_tape, trim
from agentworld_sim.cassette._taping import TapeMode, TapeReport, Taping

__all__ = ["Cassette", "Recorder", "TapeMode", "TapeReport", "Taping", "is_tape", "trim"]
