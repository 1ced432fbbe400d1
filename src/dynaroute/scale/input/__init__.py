"""Where the instances of a batch come from: folders, lists of files, or rows of a table.

Begin with `sources`, the protocol; `opening` chooses a source. It may import `base`, `problem`, `formats` and `scale`.
"""
