"""Defines rows: their columns, text cleaning, Parquet files and labelled sets."""
