"""One file a format: how it is read and how it is recognised; `spec` is the table of all of them."""
