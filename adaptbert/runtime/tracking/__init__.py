"""How a stage's record reaches MLflow: who calls it and for how long, what is called, what is kept of a failure."""
