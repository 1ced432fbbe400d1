"""The commands, one module each.

Begin with `solve`. A module reads options, calls one room, and prints. It may import every room above it, and every
room of `cli`.
"""
