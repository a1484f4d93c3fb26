"""params.yaml is read strictly, and what is wrong in it is reported with its place and remedy."""
