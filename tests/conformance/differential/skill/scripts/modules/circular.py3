import measures.ring_a
print(measures.ring_a.ring_b.value)
