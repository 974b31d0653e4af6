"""Plans (seed 003): DAGs of tools, executed by the fleet, and planned anew when they fail."""
