"""What conversations did, in SQL: kept when redis has long forgotten them."""
