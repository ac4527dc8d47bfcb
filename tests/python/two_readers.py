"""two_readers.py: models damaged or written otherwise, read by the program and by a strict reader in Python that follows
nn/format.md: both refuse a file, or both read it and agree on the logits. test_library runs it.

    two_readers.py MODEL SEED [planted]    MUTANTS=number of files, 300; planted: a reader that allows gaps, which must be seen
"""
import json
import os
import random
import shutil
import struct
import sys

import numpy
import read_model
import trotter

WIDTH = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


def numbers(dtype, raw):
    if dtype == "BF16":
        return (numpy.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").astype(float)
    return numpy.frombuffer(raw, {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype]).astype(float)


def need(condition, words):
    if not condition:
        raise ValueError(words)


def once(pairs):
    need(len(dict(pairs)) == len(pairs), "a name twice")
    return dict(pairs)


def strict(data, shapes, gaps):
    """Returns metadata and tensors, or raises ValueError."""
    need(len(data) >= 8, "short")
    n, = struct.unpack("<Q", data[:8])
    need(2 <= n <= len(data) - 8 and data[8:9] == b"{", "header")
    head, body, at = json.loads(data[8:8 + n].decode(), object_pairs_hook=once, parse_constant=float.fromhex), data[8 + n:], 0
    told, w = head.pop("__metadata__", {}), {}
    need(type(told) is dict and all(type(x) is str for x in told.values()), "metadata")
    for t in head.values():
        need(type(t) is dict and t.get("dtype") in WIDTH, "dtype")
        need(all(type(t.get(k)) is list and all(type(x) is int and x >= 0 for x in t[k]) for k in ("shape", "data_offsets")), "lists")
        need(len(t["data_offsets"]) == 2, "offsets")
    for name, t in sorted(head.items(), key=lambda x: x[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        need(begin == at or (gaps and at <= begin <= end <= len(body)), "a gap")
        need(end - begin == numpy.prod([1] + t["shape"], dtype=object) * WIDTH[t["dtype"]] and end <= len(body), "bytes")
        w[name], at = numbers(t["dtype"], body[begin:end]).reshape(t["shape"]), end
    need(at == len(body), "bytes behind")
    need({k: x.shape for k, x in w.items()} == shapes and all(numpy.isfinite(x).all() for x in w.values()), "tensors")
    return told, w


def written(told, w, draw):
    """A file of the tensors: in a drawn order, some in other formats, the JSON as drawn."""
    head, body, names = {"__metadata__": told}, b"", list(w)
    if draw.random() < .5:
        draw.shuffle(names)
    for name in names:
        dtype, x = draw.choice(["F32"] * 6 + list(WIDTH)), w[name].astype("<f4")
        raw = (x.view("<u4") >> 16).astype("<u2").tobytes() if dtype == "BF16" else x.astype("<f%d" % WIDTH[dtype]).tobytes()
        head[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    return head, body


def spoil(head, body, draw):
    """Changes one thing of the header, or none."""
    name = draw.choice([k for k in head if k != "__metadata__"])
    t, kind, by = head[name], draw.randrange(14), draw.choice([-1, 1, 4, 8, 2 ** 31, 2 ** 62])
    if kind == 0:
        t["shape"].reverse()
    elif kind == 1:
        t["shape"][draw.randrange(len(t["shape"]))] += by
    elif kind == 2:
        t["data_offsets"][draw.randrange(2)] += by
    elif kind == 3:
        t["dtype"] = draw.choice(["F32", "F64", "F16", "BF16", "I32", "f32", "", 4, None])
    elif kind == 4:
        del head[name]
    elif kind == 5:
        head[name + "x"] = dict(t)
    elif kind == 6:
        t[draw.choice(["shape", "data_offsets"])] = draw.choice([None, 4, [], [4.0], ["4"], {}, [-1, 2]])
    elif kind == 7:
        head["__metadata__"] = draw.choice([dict(head["__metadata__"], extra=draw.choice([4, None, "x"])), [], "x"])
    elif kind == 8:
        shift = draw.choice([4, 8])  # a gap before all later tensors
        for other in head.values():
            if other.get("data_offsets", [0])[0] > t["data_offsets"][0]:
                other["data_offsets"] = [x + shift for x in other["data_offsets"]]
        body = body[:t["data_offsets"][1]] + b"\0" * shift + body[t["data_offsets"][1]:]
    elif kind == 9:
        body += b"\0" * draw.choice([1, 4, 8])
    elif kind == 10:
        at = draw.randrange(len(body))
        body = body[:at] + bytes([draw.randrange(256)]) + body[at + 1:]
    return head, body


def mutant(told, w, draw):
    head, body = spoil(*written(told, w, draw), draw)
    line = json.dumps(head, indent=draw.choice([None, 1]), ensure_ascii=draw.random() < .5).encode()
    if draw.random() < .1:  # a name twice
        line = line[:-1] + b", " + line[1:]
    line += b" " * draw.randrange(9)
    data = bytearray(struct.pack("<Q", len(line) + (draw.random() < .05)) + line + body)
    if draw.random() < .2:
        data[draw.randrange(8 + len(line))] ^= 1 << draw.randrange(8)
    if draw.random() < .1:
        del data[draw.randrange(len(data)):]
    return bytes(data)


def outcome(read):
    """What a reader returns, or None and why it refuses."""
    try:
        return read(), "read"
    except (ValueError, trotter.Error) as e:  # json's errors are ValueErrors
        return None, "refused (%s)" % e


def main(model, seed, gaps):
    draw, ids, count = random.Random(seed), [0, 1, 2], [0, 0, 0]
    told, w = read_model.read(model + "/model.safetensors")
    told = {k: x for k, x in told.items() if k != "checksum"}
    os.makedirs("mutant", exist_ok=True)
    shutil.copy(model + "/vocab.txt", "mutant")
    for turn in range(int(os.environ.get("MUTANTS", 300))):
        data = mutant(told, w, draw)
        with open("mutant/model.safetensors", "wb") as f:
            f.write(data)
        here, words = outcome(lambda: strict(data, {k: x.shape for k, x in w.items()}, gaps))
        there, others = outcome(lambda: trotter.load("mutant").logits(ids))
        if here and {**here[0], "extra": ""} != {**told, "extra": ""}:
            count[2] += 1  # a byte of the metadata changed: other settings
            continue
        want = None if here is None else read_model.logits(*here, ids)
        same = (want is None) == (there is None) and (want is None or abs(want - there).max() <= 1e-9 * abs(want).max())
        count[want is not None] += 1
        if not same:
            sys.exit("seed %s, mutant %d (mutant/model.safetensors): %s here, %s there" % (seed, turn, words, others))
    print("%d refused, %d read, %d with other settings" % tuple(count))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], len(sys.argv) > 3)
