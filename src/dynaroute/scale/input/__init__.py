"""Where the instances of a batch come from: folders, lists of files, or rows of a table.

Begin with `opening`, which says what a source can do and chooses one. It may import `base`, `problem`, `formats`
and `scale`.
"""
