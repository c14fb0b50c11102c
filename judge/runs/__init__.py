"""Run folders: create, lock, save, load and export."""
