"""A policy learns by REINFORCE.

Begin with `run/trainer`, the run; `step/reinforce` is one step, and holds the loss. It may import every room above it.
"""
