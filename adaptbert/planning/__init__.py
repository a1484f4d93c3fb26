"""What a recipe stands for before it runs: rules, input files, amounts, prices, memory."""
