"""What the layers of each rung hold before fine-tuning: frozen probes, their likeness, a lexicon of two languages."""
