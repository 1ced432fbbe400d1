"""Our JSON: instances, fleets and solutions."""
