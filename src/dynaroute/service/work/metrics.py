"""Metrics in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

__all__ = ["Metrics"]

_LATENCIES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "dynaroute_requests", "Requests answered.", ["method", "route", "status"], registry=self._registry
        )
        self._latency = Histogram(
            "dynaroute_request_seconds",
            "Time from a request's head to its answer's end.",
            ["route"],
            buckets=_LATENCIES,
            registry=self._registry,
        )
        self._batches = Histogram(
            "dynaroute_batch_size", "Requests solved together.", buckets=_SIZES, registry=self._registry
        )
        ProcessCollector(registry=self._registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response; `route` is the path's template, because there may be any number of paths."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def count_batch(self, size: int) -> None:
        """Count a batch of requests."""
        self._batches.observe(size)

    def watch(self, name: str, description: str, measure: Callable[[], float]) -> None:
        """Expose the value of a function."""
        Gauge(f"dynaroute_{name}", description, registry=self._registry).set_function(measure)

    def expose(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)
