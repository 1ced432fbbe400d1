"""One writer for each format of plans, and what they share.

Begin with `table`, the rows of a plan, which most writers print. It may import `base`, `problem`, `roads`, `formats`,
`plotting` and `plans`.
"""
