"""Work that outlasts a request."""
