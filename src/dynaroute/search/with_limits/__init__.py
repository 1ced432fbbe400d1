"""The same for problems with windows, limits and several types of vehicles."""
