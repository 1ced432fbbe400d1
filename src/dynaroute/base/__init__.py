"""What every room uses: errors, words, files, limits, and what the machine offers.

Begin with `errors`. It imports no other room.
"""
