"""One step of training: instances, samples, baseline, loss and update.

Begin with `reinforce`: `reinforce_loss` is the loss. It may import every room above it, `training`, `training/plan` and
`training/replay`.
"""
