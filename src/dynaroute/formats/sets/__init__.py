"""Files with many instances: npz, Parquet, PyTorch's files, and the pickles of published test sets.

Begin with `npz`. `plain_pickle` reads pickles without running them. It may import `base`, `problem`, `formats` and
`formats/json`.
"""
