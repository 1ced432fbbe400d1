"""The endpoints, one file a subject."""
