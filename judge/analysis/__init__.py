"""The typed summary of a run, and what follows from runs and labels of people, without files or calls.

- `summary`, `judged_run`: the records of summary.json, and how they are computed from a judged run.
- `combine_runs`: several runs as one.
- `label_agreement`: the assessor against labels; `pair_plan`, `planned_order`: labels on drawn pairs.
"""
