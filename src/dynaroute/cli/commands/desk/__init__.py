"""The commands of the dispatcher's desk, one module each.

Begin with `replan`. A module reads options, calls one room, and prints. It may import every room above it, and every
room of `cli`.
"""
