"""`python -m agentworld_sim.cli`, for when the script is not on the path."""

from agentworld_sim.cli import main

main()
