"""The parts of `check`: how a route is driven, loaded and shared out, in code that no solver uses.

Begin with `drive`. It imports what an instance is.
"""
