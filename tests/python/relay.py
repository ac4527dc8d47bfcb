"""relay.py: a cable between two network interfaces that loses packets and takes its time, where the kernel has no netem.

    relay.py A B DELAY-MS LOSS-PERCENT     runs until it is ended; needs root
    relay.py plain NAME                    the interface computes its checksums itself
"""
import ctypes
import fcntl
import heapq
import random
import select
import socket
import struct
import sys
import time

ETHTOOL = 0x8946
OFFLOADS = {"tx checksums": 0x17, "segments": 0x1f, "generic segments": 0x24}  # linux/ethtool.h: STXCSUM, STSO, SGSO


def plain(name):
    """Lets an interface send whole packets with their checksums, as a cable needs them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for command in OFFLOADS.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            fcntl.ioctl(s, ETHTOOL, struct.pack("16sP", name.encode(), ctypes.addressof(value)))


def relay(a, b, delay, loss):
    ends = []
    for name in (a, b):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.bind((name, 0))
        ends.append(s)
    draw, waiting, n = random.Random(1), [], 0
    while True:
        rest = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for s in select.select(ends, [], [], rest)[0]:
            packet, where = s.recvfrom(65536)
            if where[2] != socket.PACKET_OUTGOING and draw.random() >= loss:
                n += 1
                heapq.heappush(waiting, (time.monotonic() + delay, n, ends[s is ends[0]], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(waiting)
            try:
                to.send(packet)
            except OSError:
                pass


if sys.argv[1] == "plain":
    plain(sys.argv[2])
else:
    relay(sys.argv[1], sys.argv[2], float(sys.argv[3]) / 1e3, float(sys.argv[4]) / 100)
