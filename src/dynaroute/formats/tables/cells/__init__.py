"""Cells of workbooks and of CSV, with the amounts and units that people write in them.

Begin with `cells`; `workbook` opens xlsx. It may import `base`, `problem`, `formats` and `formats/tables`.
"""
