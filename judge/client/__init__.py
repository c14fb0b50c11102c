"""The client of a model: limiter, retries, budget and cancellation.

    client           one request with retries and the budget; what a run waits for
    limiter          the permits of requests: probes, the circuit breaker
    rate_estimator   the rate and the concurrency that a server accepts
    retry            when a request is made again, and when a server counts as unavailable
    budget           the limits on calls and money
    cancel           Ctrl-C and the end of a run
    progress         the listener that shows how far a run is

The adapters in `judge.models` send the requests.
"""
