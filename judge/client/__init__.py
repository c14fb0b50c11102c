"""The client of a model: limiter, retries, budget and cancellation."""
