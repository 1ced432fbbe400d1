"""HTTP: the application, its server and connections, and who may ask.

Begin with `application`. It may import every room above it, and every room of `service`.
"""
