"""Cassettes: recorded answers that seed or replay a world."""

from agentworld_sim.cassette._answers import CassetteMiss
from agentworld_sim.cassette.file import Cassette, Recorder, is_cassette, trim
from agentworld_sim.cassette.session import CassetteMode, CassetteReport, CassetteSession

__all__ = [
    "Cassette",
    "CassetteMiss",
    "CassetteMode",
    "CassetteReport",
    "CassetteSession",
    "Recorder",
    "is_cassette",
    "trim",
]
