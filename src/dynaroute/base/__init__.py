"""What every room uses: errors, words, files, limits, and what the machine offers.

Begin with `errors`, the types of everything that a user can cause. It imports no other room.
"""
