"""What all searches share: compiling, leg lengths, the problem and its routes as arrays.

Begin with `problem` and `routes`; `compiled` keeps the machine code on disk. It may import `base`, `problem` and
`search/with_limits`.
"""
