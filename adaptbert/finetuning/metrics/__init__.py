"""Gold and predicted answers -> numbers."""
