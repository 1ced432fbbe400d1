"""Batches of instances and of solutions, as tensors. Mixed sizes are padded."""

from dynaroute.batch.instances import InstanceBatch
from dynaroute.batch.routes import RouteBatch

__all__ = ["InstanceBatch", "RouteBatch"]
