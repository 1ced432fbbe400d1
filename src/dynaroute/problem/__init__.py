"""One problem and its solutions: what an instance is, how it is measured, and what makes a solution right.

Begin with `instance`. `judge` is the code of `check`, which shares nothing with any solver. It may import `base`.
"""
