"""What a row is: its columns, how it is cleaned, and the parquet files and labelled sets that it lies in."""
