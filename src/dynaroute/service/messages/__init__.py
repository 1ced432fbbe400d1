"""What requests and responses say, how bodies are read, and how large they may be.

Begin with `request_schemas` and `response_schemas`. It may import every room above it, and `service`.
"""
