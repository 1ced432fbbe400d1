"""Parts of `dynaroute train`: its options, the plan that they make, and what a run prints.

Begin with `options`. It may import every room above it, and `cli/shared`.
"""
