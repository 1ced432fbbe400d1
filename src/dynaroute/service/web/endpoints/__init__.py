"""The endpoints, one module per subject.

Begin with `solving`. It may import every room above it, and every room of `service`.
"""
