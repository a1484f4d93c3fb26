"""Shared by all packages: typed configs, atomic files, counter-based random numbers, the names of the ladder."""
