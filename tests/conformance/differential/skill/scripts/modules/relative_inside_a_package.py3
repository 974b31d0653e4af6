from measures.inner.deep import DEPTH, outer_area
import measures.inner
print(DEPTH, outer_area(), measures.inner.__path__ == [measures.inner.__spec__.submodule_search_locations[0]])
print(measures.inner.deep.__file__)
