"""Who solves the blocks of a batch: processes of this machine, or actors of a Ray cluster.

Begin with `engine`, the protocol of both. It may import `base`, `solving` and `scale`.
"""
