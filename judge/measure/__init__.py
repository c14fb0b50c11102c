"""Measuring: pure functions over grades, without files, network or clock.

- What a measure is, and its value on a list: `measures`, `formulas`; what all modules share: `numeric`.
- From records to scores: `columns`, `arrays`, `values`, `imputation`, `score`, `engine_summary`.
- Which differences are significant: `intervals`, `resampling`, `simultaneous`, `compare`, `segments`,
  `sensitivity`.
- Whether the assessor is right: `grades_by_pair`, `agreement`, `engine_agreement`, `stability`,
  `grading_models`.
- Scores by labels on a part of the queries or pairs: `ppi`, `pair_sampling`.

`low` and `high` are the ends of a confidence interval, as in scipy. `lowest` and `highest`, the bounds, are
the ends of the range over all grades of the unjudged snippets.
"""
