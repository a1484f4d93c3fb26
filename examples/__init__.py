"""Small studies on the library, one readable file each: docs/how-to/examples.md lists them."""
