"""Cells of spreadsheets and of CSV, with the amounts and units that people write in them."""
