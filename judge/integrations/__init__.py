"""Owns bridges to other tools; nothing inside judge imports them."""
