"""A language model's logits by NumPy alone: python3 read_model.py DIRECTORY ID ID ... The formulas are those of nn/format.md."""
import json, re, struct, sys
import numpy as np

def read(file):
    data = open(file, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + n])
    told = head.pop("__metadata__")
    at = lambda t: np.frombuffer(data, {"F32": "<f4", "F64": "<f8"}[t["dtype"]], int(np.prod(t["shape"])), 8 + n + t["data_offsets"][0])
    return told, {name: at(t).reshape(t["shape"]).astype(float) for name, t in head.items()}

def norm(w, p, x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[p + ".weight"] + w[p + ".bias"]

def F(w, told, p, y):
    T, H, c = len(y), int(told["heads"]), int(told["relative_clip"])
    q, k, v = (norm(w, p + ".norm", y) @ w[p + ".qkv.weight"].T + w[p + ".qkv.bias"]).reshape(T, 3, H, -1).transpose(1, 2, 0, 3)
    s, apart = q @ k.transpose(0, 2, 1), np.arange(T)[None] - np.arange(T)[:, None]
    if p + ".relative.weight" in w:
        s = s + np.einsum("hie,ije->hij", q, w[p + ".relative.weight"][np.clip(apart, -c, c) + c])
    a = np.exp(np.where(apart > 0, -np.inf, s / np.sqrt(q.shape[-1])))
    return (a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(T, -1) @ w[p + ".out.weight"].T + w[p + ".out.bias"]

def G(w, told, p, y):
    u = norm(w, p + ".norm", y) @ w[p + ".up.weight"].T + w[p + ".up.bias"]
    gelu = u / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))
    return (gelu if told["activation"] == "gelu" else np.maximum(u, 0)) @ w[p + ".down.weight"].T + w[p + ".down.bias"]

STEP = r"(k\d+|y)'? *= *((?:[FGHL]\d*(?=\()|k\d+|y|[-+/() .\d]|\*(?!\*))+)"  # the part of the language that is Python and plain

def logits(told, w, ids):
    D, T = int(told["width"]), len(ids)
    steps = [line for line in told["scheme_text"].splitlines() if not re.match(r"(scheme|title|source|note|start|error)\b|#|$", line)]
    other = [line for line in steps if not re.fullmatch(STEP, line)] + [k for k in ("adaptive", "span", "first-relu") if k in told]
    if other or told["norm"] != "pre" or told["format"] != "trotter language model 1":
        raise ValueError("this reader has no history, learned numbers, post-norm, spans, clusters of words: %s" % (other or told["norm"]))
    y, angle = np.sqrt(D) * w["embed.weight"][ids], np.arange(T)[:, None] * 10000.0 ** -(np.arange(D // 2) / max(D // 2 - 1, 1))
    y = y + np.concatenate([np.sin(angle), np.cos(angle)], 1) * (told["positions"] in ("sinusoid", "both"))
    for layer in range(int(told["layers"])):
        op = {"__builtins__": {}, "y": y}
        for name, kind, f in [(n + s, k + (s or "1"), f) for n, k, f in (("F", "attn.", F), ("G", "ffn.", G)) for s in ["", *"123456789"]]:
            op[name] = lambda x, f=f, p="layers.%d.%s" % (layer, kind): f(w, told, p, x)
        op.update(H=lambda x: op["F"](x) + op["G"](x), L=lambda x: op["F"](x) + op["G"](x + op["F"](x)))
        for name, value in (re.fullmatch(STEP, line).groups() for line in steps):
            op[name] = eval(value, op)
        y = op["y"]
    return norm(w, "final_norm", y) @ w.get("output.weight", w["embed.weight"]).T

if __name__ == "__main__":
    np.savetxt(sys.stdout, logits(*read(sys.argv[1] + "/model.safetensors"), list(map(int, sys.argv[2:]))), "%.9g")
