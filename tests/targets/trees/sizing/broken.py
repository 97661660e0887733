"""nvbugs/6535874: the pool is sized from a field that a graph's metadata narrows to its bucket."""


def slot_count(spec_metadata):
    return spec_metadata.max_num_requests
