"""Better routes: from 2-opt to the search that runs until the time is up.

Begin with `search`, which says which searches run for how long; `improvers` lists the ways to improve. `core` is what
all share. It may import `base`, `problem` and `batch`.
"""
