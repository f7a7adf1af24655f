"""Start a model server with the flags the language world model needs, and look at one that runs.

`serve()` is the short way; `agentworld serve` and `agentworld doctor` are these on the command line.
"""

from agentworld_sim.model.serving._command import ServerCommand, build_command
from agentworld_sim.model.serving._environments import (
    Environment,
    NoEnvironment,
    default_folder,
    find_environment,
    make_environment,
)
from agentworld_sim.model.serving._missing import Obstacle, find_obstacles
from agentworld_sim.model.serving._options import ServerOptions
from agentworld_sim.model.serving._serve import serve
from agentworld_sim.model.serving._server import ModelServer, ServerFailure
from agentworld_sim.model.serving._weights import Weights, find_weights

__all__ = [
    "Environment",
    "ModelServer",
    "NoEnvironment",
    "Obstacle",
    "ServerCommand",
    "ServerFailure",
    "ServerOptions",
    "Weights",
    "build_command",
    "default_folder",
    "find_environment",
    "find_obstacles",
    "find_weights",
    "make_environment",
    "serve",
]
