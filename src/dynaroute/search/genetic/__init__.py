"""A population of solutions, and the breeding of better ones.

Begin with `genetic`. It may import `problem`, `search`, `search/core` and `search/local`.
"""
