"""Every night: collect, judge, compare with a frozen baseline, say what changed and whom to ask about it."""
