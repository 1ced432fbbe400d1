"""Who solves the blocks of a batch: processes of this machine, or actors of a Ray cluster."""
