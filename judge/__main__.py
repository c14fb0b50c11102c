"""Owns `python -m judge`."""

from judge.cli import main

if __name__ == "__main__":
    main()
