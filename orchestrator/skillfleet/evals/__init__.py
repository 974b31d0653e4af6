"""Sets of prompts, and what their answers have to be."""
