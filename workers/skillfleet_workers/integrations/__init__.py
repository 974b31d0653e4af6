"""Skills in other people's frameworks; each module needs an extra of this distribution."""
