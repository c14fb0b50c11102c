"""Output on the terminal: `screen` is the console, `tables` the layout; other modules print for commands."""
