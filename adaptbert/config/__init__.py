"""params.yaml: its schema with every default, how it is read, and the plan that follows from it."""
