Cost 30
