"""Start a model server with the flags the language world model needs, and look at one that runs.

`serve()` is the short way; `agentworld serve` and `agentworld doctor` are these on the command line.
"""

from agentworld_sim.serving._command import ServerCommand, build_command
from agentworld_sim.serving._missing import Obstacle, find_obstacles
from agentworld_sim.serving._serve import free_port, serve
from agentworld_sim.serving._server import ModelServer, ServerFailure
from agentworld_sim.serving._weights import Weights, find_weights
from agentworld_sim.serving.environments import (
    Environment,
    NoEnvironment,
    default_folder,
    find_environment,
    make_environment,
)
from agentworld_sim.serving.options import ServerOptions

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
    "free_port",
    "make_environment",
    "serve",
]
