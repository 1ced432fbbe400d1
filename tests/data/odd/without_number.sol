Route: 1 2
Route: 3
Route: 4
Cost 30
