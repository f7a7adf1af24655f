"""Small models, fine-tuned on what environments that are code answered, and measured on what is held out.

agentworld bench make bfcl --environment .venv-bfcl
python -m experiments.fine_tuning.rows bfcl.jsonl --into runs/fine-tuned-smollm2
agentworld train sft experiments/fine_tuning/smollm2.toml model.path=MODEL
"""
