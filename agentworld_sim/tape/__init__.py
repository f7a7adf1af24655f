"""Cassettes: recorded traffic that seeds or replays a world."""

from agentworld_sim.tape._cassette import Cassette, Recorder

__all__ = ["Cassette", "Recorder"]
