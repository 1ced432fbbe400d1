"""Solving more instances than fit in memory, by many workers. Needs the extra ``dynaroute[batch]``.

Begin with `run`, which is the whole of it: rows from a source, cut into blocks, solved by an engine's workers, one part
of the output for each block. It knows no engine. It may import every room above it.
"""
