"""Files of safetensors by NumPy: read gives metadata and numbers in double precision; write keeps an array's own type."""
import json
import struct

import numpy as np

KINDS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


def read(file):
    data = open(file, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    head, w = json.loads(data[8:start]), {}
    told = head.pop("__metadata__", {})
    for key, t in head.items():
        a, b = (start + i for i in t["data_offsets"])
        x = np.frombuffer(data[a:b], KINDS.get(t["dtype"], "<u2"))
        x = (x.astype("<u4") << 16).view("<f4") if t["dtype"] == "BF16" else x
        w[key] = x.astype(float).reshape(t["shape"])
    return told, w


def write(file, w, told=None):
    head, data = {"__metadata__": told} if told else {}, b""
    for key, x in w.items():
        kind = next(k for k, v in KINDS.items() if x.dtype == v)
        head[key] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    line = json.dumps(head, separators=(",", ":")).encode()
    line += b" " * (-len(line) % 8)
    open(file, "wb").write(struct.pack("<Q", len(line)) + line + data)
