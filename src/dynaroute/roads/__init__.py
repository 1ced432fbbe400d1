"""Distances, times and ways on real roads: from files of matrices, from servers, or from an extract of a map.

Begin with `source`, which puts them into an instance. It may import `base` and `problem`.
"""
