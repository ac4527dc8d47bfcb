"""A model's logits by NumPy alone: python3 read_model.py DIRECTORY ID ID ... The formulas are those of nn/format.md.

Language models, and encoders alone, whose first ID is that of <cls>: words, or where a model tells no words its classes or number.
A model that it cannot read, as of two sides, is refused."""
import json, re, struct, sys
import numpy as np

def read(file):
    data = open(file, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + n])
    told = head.pop("__metadata__")
    at = lambda t: np.frombuffer(data, {"F32": "<f4", "F64": "<f8"}[t["dtype"]], int(np.prod(t["shape"])), 8 + n + t["data_offsets"][0])
    w = {name: at(t).reshape(t["shape"]).astype(float) for name, t in head.items()}
    if told["norm"] != "pre" or any(re.match(r"encoder\.|embed\.(?!weight)|.*\.span\.", name) for name in w):
        raise ValueError(file + ": two sides, norms behind sublayers, clusters of words and spans are not read here")
    if re.search(r"^[^#]*[\[@]|^flow", statements(told), re.M):
        raise ValueError(file + ": schemes that read earlier layers or times are not read here")
    return told, w

def statements(told):
    return re.sub(r"^(scheme|title|source|note|start)\b.*", "", told["scheme_text"], flags=re.M)

def linear(w, p, x):
    return x @ w[p + ".weight"].T + w[p + ".bias"]

def norm(w, p, x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[p + ".weight"] + w[p + ".bias"]

def gelu(u):
    return u / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))

def F(w, told, p, y):
    T, H, c = len(y), int(told["heads"]), int(told["relative_clip"])
    q, k, v = linear(w, p + ".qkv", norm(w, p + ".norm", y)).reshape(T, 3, H, -1).transpose(1, 2, 0, 3)
    s, apart = q @ k.transpose(0, 2, 1), np.arange(T)[None] - np.arange(T)[:, None]
    if p + ".relative.weight" in w:
        s = s + np.einsum("hie,ije->hij", q, w[p + ".relative.weight"][np.clip(apart, -c, c) + c])
    seen = told["format"] == "trotter encoder 1" or apart <= 0
    s = np.where(seen, s / np.sqrt(q.shape[-1]), -np.inf)
    a = np.exp(s - s.max(-1, keepdims=True))
    x = (a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(T, -1)
    return linear(w, p + ".out", x)

def G(w, told, p, y):
    relu = told["activation"] == "relu" or (told.get("first-relu") == "yes" and p.endswith(".1"))
    u = linear(w, p + ".up", norm(w, p + ".norm", y))
    return linear(w, p + ".down", np.maximum(u, 0) if relu else gelu(u))

NAME, NUMBER = r"[A-Za-z]\w*(?![\w.])", r"\d+(?:\.\d*)?(?:e[-+]?\d+)?(?!\w)"
PLAIN = r"(?:%s|%s|[-+/^() ]|\*(?!\*))*" % (NAME, NUMBER)  # all that is evaluated: names of step, numbers, arithmetic

def step(w, told, layer, y):
    """y' of one layer: the statements of a scheme's text are Python's."""
    op = {"__builtins__": {}, "y": y, "sqrt": np.sqrt}
    for name, kind, f in (("F", "attn", F), ("G", "ffn", G)):
        for s in range(1, 10):
            op[name + str(s)] = lambda x, f=f, p="layers.%d.%s.%d" % (layer, kind, s): f(w, told, p, x)
    op.update(F=op["F1"], G=op["G1"], H=lambda x: op["F1"](x) + op["G1"](x), L=lambda x: op["F1"](x) + op["G1"](x + op["F1"](x)))
    for kind, name, value in re.findall(r"^(?:(let|learn|gate) +)?([\w']+) *= *([^#\n]*)", statements(told), re.M):
        p = "layers.%d.scheme.%s" % (layer, name)
        if kind == "learn":
            op[name] = w[p]
        elif kind == "gate":
            act, a, b = re.match(r"(\w+)\((\w+), *(\w+)\)", value).groups()
            z = linear(w, p, np.concatenate([op[a], op[b]], 1))
            op[name] = np.tanh(z) if act == "tanh" else 1 / (1 + np.exp(-z))
        elif re.fullmatch(PLAIN, value):
            op[name.strip("'")] = eval(value.replace("^", "**"), op)
        else:
            raise ValueError("not read here: " + value)
    return op["y"]

def hidden(told, w, ids, segments=None):
    """The output, under its norm where it has one, a row for each id; segments: 0 or 1 for each id, of a model of two."""
    D, T = int(told["width"]), len(ids)
    y, angle = w["embed.weight"][ids], np.arange(T)[:, None] * 10000.0 ** -(np.arange(D // 2) / max(D // 2 - 1, 1))
    if "segment.weight" in w:
        y = y + w["segment.weight"][[0] * T if segments is None else segments]
    y = np.sqrt(D) * y
    if told["positions"] in ("sinusoid", "both"):
        y = y + np.concatenate([np.sin(angle), np.cos(angle)], 1)
    for layer in range(int(told["layers"])):
        y = step(w, told, layer, y)
    return norm(w, "final_norm", y) if "final_norm.weight" in w else y

def logits(told, w, ids, segments=None):
    """Of words: for each id what follows it, of an encoder alone what it is."""
    h = hidden(told, w, ids, segments)
    if told["format"] == "trotter encoder 1":
        h = norm(w, "head.norm", gelu(linear(w, "head.dense", h)))
    return h @ w.get("output.weight", w["embed.weight"]).T + w.get("output.bias", 0)

def classes(told, w, ids, segments=None):
    """Of an encoder that tells labels: logits of its classes, or its number."""
    z = linear(w, "classes", np.tanh(linear(w, "pool", hidden(told, w, ids, segments)[0])))
    return z * float(told.get("label_sd", 1)) + float(told.get("label_mean", 0))

if __name__ == "__main__":
    told, w = read(sys.argv[1] + "/model.safetensors")
    tells_words = told["format"] != "trotter encoder 1" or "head.dense.weight" in w
    np.savetxt(sys.stdout, (logits if tells_words else classes)(told, w, list(map(int, sys.argv[2:]))), "%.9g")
