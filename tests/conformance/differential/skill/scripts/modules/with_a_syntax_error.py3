import measures.unreadable
