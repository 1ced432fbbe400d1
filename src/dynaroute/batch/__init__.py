"""Many instances, and many solutions, as tensors: mixed sizes are padded."""

from dynaroute.batch.instances import InstanceBatch
from dynaroute.batch.routes import RouteBatch

__all__ = ["InstanceBatch", "RouteBatch"]
