"""What requests and responses say, and how their bodies are read."""
