"""Self-test of an assessor: resistance to prompt injection, strictness, and format of its replies."""
