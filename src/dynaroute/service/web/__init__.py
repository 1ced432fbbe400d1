"""HTTP: the application, its endpoints, connections and who may ask."""
