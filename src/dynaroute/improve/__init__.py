"""Making solutions better: 2-opt, local search, and a search that uses the time it is given."""
