"""Stages of training: continued pre-training, supervised fine-tuning, and reinforcement learning."""
