"""What a batch writes and counts: parts of the output, a summary, and tallies.

Begin with `parts`. It may import `base`, `problem`, `formats`, `solving`, `scale` and `scale/engines`.
"""
