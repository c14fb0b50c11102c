"""Self-test of an assessor: resistance to prompt injection, strictness, and format of its replies.

probes                     the pairs that are judged, and the metrics of their grades
selftest_run               judge the probes with two prompts, and store the result
stored_selftests           the records of a result, and the figures that a run shows of its assessors
"""
