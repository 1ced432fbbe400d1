"""The parts of solve(): options, results, building with a policy, and searching."""
