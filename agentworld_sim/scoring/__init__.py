"""Scoring: how good a predicted observation is, by rules, by similarity and by a judge.

| name | meaning |
|---|---|
| `PredictionSample` | one next-observation prediction: the prompt, the truth, and the evidence that checks need |
| `BenchRow` | a row in AgentWorldBench form, read as it is given |
| `is_exact`, `agreement` | rule and similarity |
| `Judge`, `Judgement` | a model that rates a prediction in five dimensions |
| `PredictionReward` | rule, checks and judge in one number |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
