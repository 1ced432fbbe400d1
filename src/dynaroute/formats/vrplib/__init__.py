"""CVRPLIB's files and their relatives: instances, solutions, Solomon's tables."""
