"""What every package stands on: atomic files, records, random numbers, processes."""
