"""The search for windows, limits of routes, and several types of vehicles.

Begin with `search`. `tours` holds the routes with their times, and checks time windows after every change. It may
import `base`, `problem`, `search`, `search/core` and `search/annealing`.
"""
