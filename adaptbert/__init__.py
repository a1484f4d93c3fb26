"""adaptbert: measures which steps of domain adaptation improve BERT on a task, and what each step costs."""
