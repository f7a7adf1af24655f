"""`agentworld train`. Nothing here loads torch before a stage begins."""

from __future__ import annotations

import click

from agentworld_trainers._command._evaluating import evaluate
from agentworld_trainers._command._showing import recipes, show
from agentworld_trainers._command._stages import STAGE_COMMANDS


@click.group()
def train() -> None:
    """Train world models, and agents in worlds.

    A recipe is a TOML file or the name of a shipped one; `key=value` changes it. Stages find what earlier
    ones made in the recipe's folder of results (`runs/NAME`), and a stage that was stopped is taken up
    where it was by the same command.

    \b
      agentworld train recipes                             what is shipped
      agentworld train all one-gpu                         data, cpt, sft, rl: one after the other
      agentworld train rl one-gpu rl.steps=50 model.lora.rank=8
      agentworld train all qwen-agentworld-35b --dry-run   memory and tokens, no weights
      agentworld train show runs/one-gpu                   what is there
      agentworld train eval runs/one-gpu/rl/final          how good it is
    """


for command in (*STAGE_COMMANDS, evaluate, show, recipes):
    train.add_command(command)
