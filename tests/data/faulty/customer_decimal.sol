Route #1: 1 2.5
Route #2: 3
Route #3: 4
Cost 30
