"""Options of a run, of collecting and of the nights, and the TOML files that hold them."""
