"""Training of language world models, and of agents in worlds.

| package | what it is |
|---|---|
| `data` | trajectories become rows: samples in the wire form, filters, pools, a funnel |
| `masking` | how much of each observation stays in the loss of continued pre-training |
| `rewards` | what a prediction or an episode is worth: checks, exactness, a judge, functions of your own |
| `rollouts` | episodes of policies in worlds: token ids in, token ids out |
| `gspo`, `gspo_trainer` | the loss, and the TRL trainer that uses it |
| `stages`, `recipes` | what `agentworld train` runs, and the files that say how |
| `pocket` | a world model and an agent small enough to be trained in minutes on two cores |

torch, TRL and their like come with the extra `train` and are imported only where they are needed.
"""
