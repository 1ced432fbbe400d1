"""Training policies by REINFORCE."""
