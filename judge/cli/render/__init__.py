"""Output on the terminal: modules make parts of results, `tables` lays them out, `screen` is the console."""
