"""Models: the `Model` protocol, through which judging calls a model, and the adapters of libraries.

    providers                        the protocol, the providers, and the model for a name
    openai, dashscope, langchain     adapters of chat models
    scoring_models, lexical          models without a written reply: scores, log-probabilities, shared terms
    server, redaction                the address, the key and the proxy of a server; secrets in texts
    http_connections                 HTTP requests of chat models and rerankers
    http_responses                   read a body within a limit, and how long a server asks to wait
    chat_messages, error_mapping     read the completion in a response, or the error
    negotiation                      drop the parameters that a server refuses
    batch_api, openai_batches        the Batch API: its protocol, and that of OpenAI
    worker_model, ray_cluster        send requests from other machines

An adapter translates the requests, replies and errors of its library and retries nothing.
"""
