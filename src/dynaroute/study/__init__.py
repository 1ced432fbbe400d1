"""Measurements: methods on sets, the paper's tables, other solvers, and what this machine can do.

Begin with `evaluation`. Nothing that solves imports this room. It may import every room above it.
"""
