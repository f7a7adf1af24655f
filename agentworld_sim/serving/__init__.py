"""Start a model server with the flags the language world model needs, and look at one that runs.

`agentworld serve` and `agentworld doctor` are this on the command line; `serve()` is for tests and
scripts, `agentworld_sim.serving.doctor` looks at a server.
"""

from agentworld_sim.serving._command import ServerCommand
from agentworld_sim.serving._server_process import (
    ServerFailure,
    ServerPlan,
    free_port,
    plan_server,
    serve,
)
from agentworld_sim.serving.options import ServerOptions

__all__ = [
    "ServerCommand",
    "ServerFailure",
    "ServerOptions",
    "ServerPlan",
    "free_port",
    "plan_server",
    "serve",
]
