"""Changes to a plan: customers that are added, and parts that are kept."""
