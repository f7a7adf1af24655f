"""Cassettes: recorded answers that seed or replay a world."""

from agentworld_sim.cassette._recorded_answers import CassetteMiss
from agentworld_sim.cassette.cassette_session import CassetteMode, CassetteReport, CassetteSession
from agentworld_sim.cassette.file import Cassette, Recorder, is_cassette, trim

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
