"""Text and labelled sets, from a user's file to validated Parquet: readers, cleaning, leaks, splits."""
