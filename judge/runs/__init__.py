"""Run folders: create, lock, save, load and export.

    folder                          the folder, its lock, and writing files safely
    record_json                     records as JSON values, and reading older versions
    load                            a run from its folder
    export                          the files of a run, and the queries of results.json
    results_file                    results.json: its records, writing and reading it
    labelling_plan                  the files of a plan that people fill in
    run_result                      what `judge.run` returns

A folder from another person is untrusted input.
"""
