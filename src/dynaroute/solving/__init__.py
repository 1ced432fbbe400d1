"""solve(): its options, which start and which search an instance gets, and its result.

Begin with `solve`. It may import every room above it.
"""
