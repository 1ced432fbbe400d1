"""Ruin and recreate with simulated annealing: one search for plain problems, limits and rules.

Begin with `ruin_recreate`, which runs the iterations: `ruin` removes customers, `recreate` inserts them again, `tours`
holds the routes. `annealing` is the searcher of plain problems, on the whole problem or on parts of it in turn. It may
import `problem`, `search`, `search/core` and `search/with_limits`.
"""
