"""What to train: the plan of a run, its stages, and the recipes."""
