"""log_forms.py DIR: checks that log.jsonl and events.out.tfevents of a training say what its log.csv says. Reads the event file
by itself: records and their checksums, then Protocol Buffers. Ends with 1 and words where something is not so."""
import csv
import json
import math
import struct
import sys

folder = sys.argv[1]


def crc32c(data):
    """CRC-32C bit by bit with the polynomial as it stands (0x1edc6f41), each byte's bits turned round."""
    crc = 0xffffffff
    for byte in data:
        crc ^= int(f"{byte:08b}"[::-1], 2) << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x1edc6f41 if crc >> 31 else 0)) & 0xffffffff
    return int(f"{crc ^ 0xffffffff:032b}"[::-1], 2)


assert crc32c(b"123456789") == 0xe3069283  # RFC 3720's algorithm, the usual vector


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        size, head = struct.unpack("<QI", data[:12])
        body, (check,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        assert head == masked(data[:8]) and check == masked(body), "a checksum is wrong"
        yield body
        data = data[16 + size:]


def number(data):
    x = shift = 0
    while True:
        x |= (data[0] & 127) << shift
        shift += 7
        data, last = data[1:], data[0] < 128
        if last:
            return x, data


def fields(data):
    """Gives (number, value) of a message: bytes, or for 64 and 32 bits the numbers."""
    while data:
        key, data = number(data)
        kind = key & 7
        if kind == 0:
            value, data = number(data)
        elif kind == 2:
            size, data = number(data)
            value, data = data[:size], data[size:]
        else:
            form = {1: "<d", 5: "<f"}[kind]
            value, data = struct.unpack(form, data[:struct.calcsize(form)])[0], data[struct.calcsize(form):]
        yield key >> 3, value


def real(text):
    try:
        return float(text)
    except ValueError:
        return None


rows = list(csv.DictReader(open(f"{folder}/log.csv")))
lines = [json.loads(line) for line in open(f"{folder}/log.jsonl")]
first, *events = [dict(fields(r)) for r in records(open(f"{folder}/events.out.tfevents", "rb").read())]
assert first[3] == b"brain.Event:2" and first[1] > 1e9
assert rows and len(rows) == len(lines) == len(events), "the number of rows"
for row, line, event in zip(rows, lines, events):
    assert list(row) == list(line), "the names of columns"
    for name, cell in row.items():
        x = real(cell)
        assert line[name] == (x if x is not None and math.isfinite(x) else cell if cell and x is None else None), name
    values = [dict(fields(v)) for k, v in fields(event[5]) if k == 1]
    said = {v[1].decode(): v[2] for v in values}
    asked = {n: real(c) for n, c in row.items() if n != "step" and real(c) is not None}
    assert list(said) == list(asked) and event[2] == int(row["step"])
    for name, x in asked.items():
        assert said[name] == struct.unpack("<f", struct.pack("<f", x))[0], name
print(f"{len(rows)} rows")
