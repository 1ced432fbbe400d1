"""The parts of `check`: how a route is driven, loaded and shared out, in code that no solver uses.

Begin with `drive`. It may import `base` and `problem`, and there only what an instance is.
"""
