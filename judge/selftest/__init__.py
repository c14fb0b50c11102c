"""Owns testing an assessor before it is trusted: how easily it is fooled, how strict, how obedient it is."""
