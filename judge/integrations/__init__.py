"""Ways to use judge inside other tools. Nothing in judge imports this room.

Importing it keeps DeepEval from calling home and from reading or writing files, unless DeepEval was
imported before or the user has set its variables otherwise.
"""

from judge.config import quiet_deepeval

quiet_deepeval()
