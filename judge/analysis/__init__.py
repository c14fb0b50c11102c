"""What a run says: its summary, combined runs, agreement with labels. Pure."""
