"""What several commands share: options, output, tables and progress.

Begin with `output`; `options` declares the options of `solve` that other commands take too. It may import every room
above it.
"""
