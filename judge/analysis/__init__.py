"""What a run says: its summary, combined runs, agreement with labels, plans of pairs to label. Pure."""
