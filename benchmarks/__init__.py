"""Speed and scale, side by side with what a user would run instead; ratios of medians, never a test."""
