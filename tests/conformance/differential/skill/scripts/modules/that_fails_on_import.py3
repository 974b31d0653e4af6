import measures.broken
