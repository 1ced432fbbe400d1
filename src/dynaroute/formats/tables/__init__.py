"""Tables of stops, legs and vehicles: cells from text or workbooks, their headings, their numbers, the problem."""
