"""`agentworld demo`: an ordinary agent fixes a failing test in a simulated machine."""
