"""What every result stands on: typed configs, atomic files, counted random numbers, the names of the ladder."""
