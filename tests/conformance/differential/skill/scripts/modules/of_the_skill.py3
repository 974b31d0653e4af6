from measures import area, SHAPES
import measures.volumes
print(area(2, 3), SHAPES, measures.volumes.cuboid(1, 2, 3), measures.__name__, measures.__package__)
