"""`prices` has the prices of models and search engines, `costs` the cost of calls and runs."""
