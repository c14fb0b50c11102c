"""The typed summary of a run, and what follows from runs and labels of people, without files or calls.

- `judged_run`: a run with its judgments, and its scores.
- `analyse_run`: its summary; `summary`, `dimension_summary`: the records of summary.json.
- `failure_advice`: why grades are missing, and what a user can do.
- `shared_vendors`: assessors and engines of one vendor.
- `combine_runs`: several runs as one, and whether their grades mean the same.
- `label_agreement`: the assessor against labels; `pair_plan`, `planned_order`: labels on drawn pairs.
"""
