"""What each word after `judge` does: one module a group of commands, registered in `judge.cli`."""
