"""The release of a model: the folder that leaves the project, with the evidence for it."""
