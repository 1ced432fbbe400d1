"""What to train: the plan of a run, its stages and recipes, and the user's own instances.

Begin with `plan`. It may import `base`, `batch`, `draw`, `formats`, `training`, `training/step`
and `weights`.
"""
