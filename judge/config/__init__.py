"""Options of a run, of collecting and of the nightly job, and the TOML files that hold them."""
