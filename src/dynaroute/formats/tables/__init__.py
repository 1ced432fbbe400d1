"""Tables of stops, legs and vehicles, as CSV or as sheets of a workbook: from cells to an instance.

Begin with `stops`, which reads the main table. `words` lists the headings that are understood. It may import `base`,
`problem`, `roads`, `formats` and `formats/tables/cells`.
"""
