"""From any source to data/raw: installed documentation, the user's own files, data sets of the Hugging Face hub."""
