"""CVRPLIB's files and their relatives: instances, solutions, and Solomon's tables.

Begin with `instance`; `outline` splits a file into its sections. It may import `base`, `problem` and `formats`.
"""
