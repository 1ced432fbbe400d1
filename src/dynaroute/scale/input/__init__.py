"""Where the instances of a batch come from."""
