"""One training loop, resumable bit for bit."""
