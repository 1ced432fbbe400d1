"""Work that outlasts a request: it is kept in a file, and survives a restart.

Begin with `jobs`. It may import every room above it, `service`, `service/messages` and `service/work`.
"""
