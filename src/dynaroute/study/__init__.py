"""Measuring: methods on sets, the paper's tables, other solvers, and this machine.

Nothing that solves imports this room.
"""
