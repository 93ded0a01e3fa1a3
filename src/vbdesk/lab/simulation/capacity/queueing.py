"""Waiting times in a first-come-first-served queue with equal servers."""

import heapq

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def queue_waits(arrivals_s: Seconds, service_s: Seconds, servers: int) -> Seconds:
    """Waiting time of each customer before service begins.

    Every customer takes the server that is free first (recursion of Kiefer and Wolfowitz). For a single queue this is
    exact for any arrivals and services.

    Args:
        arrivals_s: arrival times, ascending, shape (n,).
        service_s: service times, shape (n,).
        servers: number of servers, at least 1.

    Raises:
        ValueError: the shapes differ, the arrivals do not ascend, or there is no server.
    """
    if servers < 1 or arrivals_s.shape != service_s.shape or np.any(np.diff(arrivals_s) < 0):
        raise ValueError("Give ascending arrivals, as many services, and at least one server.")
    free_at = [0.0] * servers
    begun = np.empty_like(arrivals_s)
    for index, (arrival, service) in enumerate(zip(arrivals_s.tolist(), service_s.tolist(), strict=True)):
        begin = max(arrival, free_at[0])
        heapq.heapreplace(free_at, begin + service)
        begun[index] = begin
    return begun - arrivals_s


def fewest_servers(arrivals_s: Seconds, service_s: Seconds, wait_s: float, percent: float = 95.0) -> int:
    """The fewest servers with which `percent` of the customers wait at most `wait_s`."""
    if arrivals_s.size == 0:
        return 1
    most = 1
    while np.percentile(queue_waits(arrivals_s, service_s, most), percent) > wait_s:
        most *= 2
    least = most // 2  # too few, or none
    while most - least > 1:
        middle = (least + most) // 2
        if np.percentile(queue_waits(arrivals_s, service_s, middle), percent) > wait_s:
            least = middle
        else:
            most = middle
    return most
