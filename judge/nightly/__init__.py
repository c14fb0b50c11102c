"""Every night: collect, judge, compare with a frozen baseline, say what changed.

    job                               the steps of a night
    context, baseline                 what a night works with; the run that it is compared with
    night_dataset                     its dataset, and how the engines were asked
    assessor_drift, dataset_changes   whether the assessor changed, and the queries and answers of engines
    regression_test                   whether engines became worse
    evidence, decision                all that changed; the status that follows from it
    record, spending, stores          night.json; what a night paid; the verdict stores of nights
    night_texts                       the texts about a night, and the formats of its message
    notifications                     where the message is sent
    trend, trend_changes              the values of all nights; what changed from one to the next
    trend_page, trend_drawing         their page, and its charts
    schedules                         timers and workflows that start the job

Canaries and pool are judged by runs of `judge.pipeline`. To understand a night, read `job` from the top,
then `gather_evidence` in `evidence`, `decide` in `decision`, and the docstring of `stores`.
"""
