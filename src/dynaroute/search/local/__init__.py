"""Local search: the moves, and the descent that makes them. A move is added in `moves`.

Begin with `local_search`. It may import `base`, `problem`, `batch`, `search` and `search/core`.
"""
