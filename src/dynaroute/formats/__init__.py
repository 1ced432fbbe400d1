"""Files: one module a format, chosen by the file's suffix."""
