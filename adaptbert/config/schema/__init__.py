"""Every option of params.yaml: type, bounds, default, unit and source; a module for each group of stages."""
