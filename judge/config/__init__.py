"""Options of a run, of collecting and of the nightly job, the TOML files that hold them, and the environment.

- The options: `run`, `collect`, `nightly`; rules for several of them: `run_checks`.
- One option: `option_record` for help and command line, `option_types` for types and ranges, `option_checks`
  for validation and messages.
- Files: `toml_file` reads them, and names file, table and key in messages.
- Environment variables: `environment`.

`judge --help` imports `option_record` and `environment`, which do not import pydantic.
"""
