"""Training of language world models, and of agents in worlds.

| package | what it is |
|---|---|
| `data` | trajectories become rows: samples in the wire form, filters, rows of each stage, counts of what was left out |
| `masking` | how much of each observation stays in the loss of continued pre-training |
| `user_functions` | functions of your own, named by import path: rewards, tasks, sources of data |
| `in_process_policy` | the model that is trained, as the policy of `agentworld_sim.rollouts` |
| `gspo`, `gspo_trainer` | the loss, and the TRL trainer that uses it |
| `stages`, `recipes` | what `agentworld train` runs, and the files that say how |

torch, TRL and their like come with the extra `train` and are imported only where they are needed. Scoring
and rollouts need none of them and are in the core: `agentworld_sim.scoring`, `agentworld_sim.rollouts`.
"""
