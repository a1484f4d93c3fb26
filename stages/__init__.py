"""One thin file a DVC stage: what goes in, what comes out, and the function that does it."""
