"""Counts of requests and responses, in the text format of Prometheus.

Each worker process has its own counts.
"""

from __future__ import annotations

from collections.abc import Iterator

MEDIA_TYPE = "text/plain; version=0.0.4"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_METHODS = frozenset(("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"))


class Metrics:
    """Counts of requests, response times and messages.

    The labels never contain text from a client, so a client cannot increase the number of labels.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0
        self.in_flight = 0
        self.messages = 0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        key = (method if method in _METHODS else "other", route, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        self._seconds += seconds
        for number, limit in enumerate(_BUCKETS):
            if seconds <= limit:
                self._buckets[number] += 1
                return
        self._buckets[-1] += 1

    def text(self, *, streams: int) -> str:
        parts = (self._request_lines(), self._time_lines(), self._number_lines(streams))
        return "\n".join([*(line for part in parts for line in part), ""])

    def _request_lines(self) -> Iterator[str]:
        yield "# HELP cortext_http_requests_total Requests by method, route and status."
        yield "# TYPE cortext_http_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            yield f"cortext_http_requests_total{{{labels}}} {count}"

    def _time_lines(self) -> Iterator[str]:
        name = "cortext_http_request_seconds"
        yield f"# HELP {name} Time to the last byte of a response, without event streams."
        yield f"# TYPE {name} histogram"
        total = 0
        for limit, count in zip((*_BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            yield f'{name}_bucket{{le="{limit}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"

    def _number_lines(self, streams: int) -> Iterator[str]:
        for name, kind, description, value in (
            ("cortext_http_in_flight", "gauge", "Requests in progress.", self.in_flight),
            ("cortext_event_streams", "gauge", "Open event streams.", streams),
            ("cortext_messages_total", "counter", "Messages added.", self.messages),
        ):
            yield f"# HELP {name} {description}"
            yield f"# TYPE {name} {kind}"
            yield f"{name} {value}"
