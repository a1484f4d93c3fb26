"""What fine-tuning can do besides: class weights, freezing, R-Drop, a search."""
