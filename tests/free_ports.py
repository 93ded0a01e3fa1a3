"""Loopback ports for servers that a test stops and starts again on the same port."""

import atexit
import random
import socket
from itertools import count

# Below the ports that systems give to outgoing connections (from 32768 on Linux, from 49152 elsewhere): one of those
# may take a port while its server is stopped.
LOWEST, HIGHEST = 20_000, 32_000
ATTEMPTS = 200
# not `random` itself: its seed is the same in every process of a run
_chance = random.SystemRandom()
_reservations: list[socket.socket] = []


def free_port() -> int:
    """A TCP port of 127.0.0.1 that stays this process's until it ends.

    The UDP port of the same number is held as the reservation that other processes of the tests see.
    """
    for attempt in count(1):
        port = _chance.randrange(LOWEST, HIGHEST)
        reservation = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            reservation.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            if attempt == ATTEMPTS:
                raise
        else:
            _reservations.append(reservation)
            return port
    raise AssertionError("unreachable")


@atexit.register
def _release() -> None:
    for reservation in _reservations:
        reservation.close()
