"""Solving more instances than fit in memory, by many workers. Needs the extra ``dynaroute[batch]``.

`run.py` is the whole of it: rows from a source, cut into blocks, solved by an engine's workers, one part of the output
for each block. Nothing here knows which engine it is.
"""
