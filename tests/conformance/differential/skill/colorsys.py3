OURS = "the skill's own"
