"""All cells and rungs -> what each step brought, what it cost, and what cannot be said."""
