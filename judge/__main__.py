"""Owns `python -m judge`."""

from judge.cli.main import main

if __name__ == "__main__":
    main()
