"""What a batch writes and counts."""
