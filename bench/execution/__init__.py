"""What starting, isolating and killing a script costs, beside those who do the same."""
