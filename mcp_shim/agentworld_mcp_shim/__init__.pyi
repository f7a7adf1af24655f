from .in_memory import world_server as world_server
