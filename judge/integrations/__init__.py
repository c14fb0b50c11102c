"""Ways to use judge inside other tools. No other module of judge imports them.

Importing this package sets one environment variable, DEEPEVAL_TELEMETRY_OPT_OUT=1, unless it is set already:
DeepEval then sends no telemetry, whichever of both is imported first. DeepEval's files and settings stay as
they are in the program that imports it. `deepeval test run` and DeepEval's pytest plugin import DeepEval, and
begin its telemetry, before they import a test file: set the variable in the environment there.
"""

from judge.config.environment import disable_deepeval_telemetry

disable_deepeval_telemetry()
