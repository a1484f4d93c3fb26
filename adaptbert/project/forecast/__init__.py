"""Says what each step would cost on the user's data, and where the facts point, before the GPU hours are spent."""
