"""Whether controls are obeyed when the model does not want to: 10,000 controlled turns against a model that disobeys on
purpose, imagined in all seven domains and computed where there is an engine.

`python -m experiments.obedience` writes `checked.json` beside this file; `--unchecked` shows the same
without the check, in `unchecked.json`.
"""
