"""An agent keeps its own tools; the world behind them becomes simulated."""
