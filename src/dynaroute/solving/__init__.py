"""What solve() is made of: options, results, building with a policy, searching for a time."""
