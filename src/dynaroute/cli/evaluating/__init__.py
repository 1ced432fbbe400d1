"""Parts of `dynaroute evaluate`: what the lengths are compared with.

Begin with `reference`. It may import every room above it, and `cli/shared`.
"""
