"""A whole run: begin with `trainer`."""
