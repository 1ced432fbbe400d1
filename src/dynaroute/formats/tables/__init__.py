"""Read tables of stops, legs and vehicles: from the cells of a text or workbook to an instance."""
