"""Where a policy's parameters stand in the two arrays that the kernels read: one of matrices, one of vectors."""

WIDTH, _INNER = 128, 512  # d_h and d_F, the only shape that the kernel supports
_SQUARE = WIDTH * WIDTH


class MatrixOffset:
    """Offsets of a layer's matrices from its first number; W^Q is the first matrix."""

    KEY = _SQUARE
    VALUE = 2 * _SQUARE
    OUTPUT = 3 * _SQUARE
    FEED_FORWARD_IN = 4 * _SQUARE
    FEED_FORWARD_OUT = FEED_FORWARD_IN + _INNER * WIDTH
    LAYER = FEED_FORWARD_OUT + WIDTH * _INNER  # the next layer; after the last one, the result of `Decoder.fold`


class VectorOffset:
    """Offsets of vectors from the first number, or within a layer from the layer's first."""

    EMBEDDING_BIAS = 3 * WIDTH  # after the weights of an embedding
    DEPOT = EMBEDDING_BIAS + WIDTH
    CAPACITY = 2 * DEPOT
    EDGE_CAPACITY = CAPACITY + WIDTH
    DISTANCE = EDGE_CAPACITY + WIDTH
    LAYERS = DISTANCE + 16
    OUT_BIAS = _INNER  # after the bias of the feed-forward sub-layer's first product
    LAYER = OUT_BIAS + WIDTH
    FIRST_NORMALISATION, SECOND_NORMALISATION = LAYER, LAYER + 2 * WIDTH
    LAYER_WITH_BATCH_NORM = LAYER + 4 * WIDTH
