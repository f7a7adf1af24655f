"""Rewards: of predictions and of final states."""
