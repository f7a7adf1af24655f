"""Cassettes: recorded traffic that seeds or replays a world."""

from agentworld_sim.cassette._cassette import Cassette, Recorder
from agentworld_sim.cassette._taping import TapeMode, TapeReport, Taping
from agentworld_sim.cassette.file import is_tape, trim

__all__ = ["Cassette", "Recorder", "TapeMode", "TapeReport", "Taping", "is_tape", "trim"]
