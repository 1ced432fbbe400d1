"""One writer for each format of plans, and what they share."""
