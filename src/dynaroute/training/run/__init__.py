"""A whole run: updates, validation, checkpoints and records until the budget is spent.

Begin with `trainer`. It may import every room above it, `training`, `training/plan` and `training/step`.
"""
