"""A search of many instances at once on a GPU: ruin and recreate, a warp for each chain, and a population of chains."""
