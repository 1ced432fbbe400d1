"""What all searches share: compiling, leg lengths, the problem and the routes as arrays."""
