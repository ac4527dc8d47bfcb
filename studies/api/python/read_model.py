"""A model's logits by NumPy alone: python3 read_model.py DIRECTORY ID ID ... The formulas are those of nn/format.md.

Language models, and encoders alone, whose first ID is that of <cls>: words, or where a model tells no words its classes or number.
Of an encoder and a decoder: the source's IDs, "/", the target's. A model that it cannot read, as with norm post, is refused."""
import itertools, json, math, re, struct, sys
import numpy as np

def load(file):
    """The metadata, and the tensors by name."""
    data = open(file, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + n])
    told = head.pop("__metadata__")
    at = lambda t: np.frombuffer(data, {"F32": "<f4", "F64": "<f8"}[t["dtype"]], int(np.prod(t["shape"])), 8 + n + t["data_offsets"][0])
    w = {name: at(t).reshape(t["shape"]).astype(float) for name, t in head.items()}
    return told, w

def read(file):
    told, w = load(file)
    if told["norm"] != "pre" or any(re.match(r"embed\.(?!weight)", name) for name in w):
        raise ValueError(file + ": norms behind sublayers and clusters of words are not read here")
    if any(re.search(r"^[^#]*[\[@]|^flow", statements(told, side), re.M) for side in ("", "encoder.")):
        raise ValueError(file + ": schemes that read earlier layers or times are not read here")
    return told, w

def statements(told, side):
    """The scheme's text; of two sides the decoder's comes first."""
    text = re.split(r"^(?=scheme )", told["scheme_text"], flags=re.M)
    text = re.sub(r"^(scheme|title|source|note|start)\b.*", "", text[-1 if side == "encoder." else len(text) > 1], flags=re.M)
    text = re.sub(r"^(carry +\w+)(?: *= *0)?$", r"\1 = 0*y", text, flags=re.M)
    return re.sub(r"^(k\d+ *= *)norm\(", lambda at, n=itertools.count(1): at[1] + "norm%d(" % next(n), text, flags=re.M)

def ordered(lines):
    """Statements, (kind, name, text), each behind those it reads: the start of what is carried stands before its stages."""
    lines, missing = list(lines), {name for _, name, _ in lines}
    while lines:
        line = next(x for x in lines if not (missing - {x[1]}) & set(re.findall(r"\w+'?", x[2])))
        missing.remove(line[1])
        lines.remove(line)
        yield line

def linear(w, p, x):
    return x @ w[p + ".weight"].T + w.get(p + ".bias", 0)

def norm(w, p, x, told={}):
    """A layer norm or, without bias, an RMS norm."""
    layer = p + ".bias" in w
    x = x - x.mean(-1, keepdims=True) * layer
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + float(told.get("norm-eps", 1e-5))) * w[p + ".weight"]
    return x + w[p + ".bias"] if layer else x

def gelu(u, told={}):
    if told.get("gelu") == "erf":
        return u / 2 * (1 + np.vectorize(math.erf)(u / np.sqrt(2)))
    return u / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))

def F(w, told, p, y):
    T, H, c = len(y), int(told["heads"]), int(told["relative_clip"])
    E = int(told.get("head-width", y.shape[1] // H))
    K, x = int(told.get("kv-heads", H)), linear(w, p + ".qkv", norm(w, p + ".norm", y, told))
    q, k, v = (x.reshape(T, -1, E).transpose(1, 0, 2) for x in np.split(x, (H * E, (H + K) * E), -1))
    if told.get("head-norm") == "yes":
        q, k = (norm(w, p + name, x, told) for name, x in ((".q_norm", q), (".k_norm", k)))
    if told["positions"] == "rotary":
        q, k = (turn(x, *turns(told, E, window(told, p))) for x in (q, k))
    k, v = np.repeat(k, H // K, 0), np.repeat(v, H // K, 0)
    s, apart = q @ k.transpose(0, 2, 1), np.arange(T)[None] - np.arange(T)[:, None]
    if p + ".relative.weight" in w:
        s = s + np.einsum("hie,ije->hij", q, w[p + ".relative.weight"][np.clip(apart, -c, c) + c])
    seen = told["format"] == "trotter encoder 1" or p.startswith("encoder.") or (apart <= 0) & (-apart < (window(told, p) or T))
    return behind(w, told, p, linear(w, p + ".out", attend(np.where(seen, s, -np.inf), v)))

def behind(w, told, p, x):
    """The norm behind a sublayer, whose tensors begin with p, where a model has these."""
    at, kind, s = re.match(r"(.*)(attn|ffn)\.(\d+)$", p).groups()
    return norm(w, "%snorm.%d" % (at, 2 * int(s) - (kind == "attn")), x, told) if told.get("output-norm") == "yes" else x

def window(told, p):
    """How many tokens attention of a layer, whose tensors begin with p, sees; 0: all."""
    of = told.get("windows", "0").split(",")
    return int(of[int(re.search(r"layers\.(\d+)", p)[1]) % len(of)])

def turns(told, E, window=0):
    """What rotary positions turn by from a token to the next, a number a pair, and what queries and keys are multiplied by."""
    base, pairs, E = float(told.get("rotary-base", 10000)), E // 2, int(told.get("rotary-part", E))
    if window and "rotary-local" in told:
        return [float(told["rotary-local"]) ** (-2 * e / E) * (2 * e < E) for e in range(pairs)], 1
    w = [base ** (-2 * e / E) * (2 * e < E) for e in range(pairs)]
    F, slow, fast, L, size = ([float(x) for x in told.get("rotary-scaling", "0").split(",")] + [0] * 4)[:5]
    if F == 0: return w, 1
    pair = lambda n: E * math.log(L / (2 * math.pi * n)) / (2 * math.log(base))
    kept = [(x * L / (2 * math.pi) - slow) / (fast - slow) if L else 0 for x in w]
    if size:  # YaRN's: by the number of the pair
        low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), E - 1)
        kept = [1 - (e - low) / (high - low or 0.001) for e in range(pairs)]
    kept = [min(max(x, 0), 1) for x in kept]
    return [k * x + (1 - k) * x / F for k, x in zip(kept, w)], size or 1

def turn(x, w, size):
    """Rotary positions of heads x (H, T, E): numbers e and e + E/2 are a pair."""
    T, E = x.shape[1:]
    angle = np.arange(T)[:, None] * np.array(w)
    a, b, c, s = x[..., :E // 2], x[..., E // 2:], np.cos(angle) * size, np.sin(angle) * size
    return np.concatenate([a * c - b * s, b * c + a * s], -1)

def attend(s, v):
    s = s / np.sqrt(v.shape[-1])
    a = np.exp(s - s.max(-1, keepdims=True))
    return (a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(s.shape[1], -1)

def C(w, told, p, y, memory):
    """Cross-attention, from y to the encoder's output."""
    heads = lambda x, n: x.reshape(len(x), n, int(told["heads"]), -1).transpose(1, 2, 0, 3)
    q, = heads(linear(w, p + ".q", norm(w, p + ".norm", y, told)), 1)
    k, v = heads(linear(w, p + ".kv", memory), 2)
    return linear(w, p + ".out", attend(q @ k.transpose(0, 2, 1), v))

def G(w, told, p, y):
    if told["activation"] not in ("relu", "gelu", "swiglu", "geglu"): raise ValueError("not read here: " + told["activation"])
    relu = told["activation"] == "relu" or (told.get("first-relu") == "yes" and p.endswith(".1"))
    x = norm(w, p + ".norm", y, told)
    if p + ".gate_up.weight" in w:
        u, v = np.split(linear(w, p + ".gate_up", x), 2, -1)
        return behind(w, told, p, linear(w, p + ".down", v * (gelu(u) if told["activation"] == "geglu" else u / (1 + np.exp(-u)))))
    u = linear(w, p + ".up", x)
    return behind(w, told, p, linear(w, p + ".down", np.maximum(u, 0) if relu else gelu(u, told)))

NAME, NUMBER = r"[A-Za-z]\w*(?![\w.])", r"\d+(?:\.\d*)?(?:e[-+]?\d+)?(?!\w)"
PLAIN = r"(?:%s|%s|[-+/^() ]|\*(?!\*))*" % (NAME, NUMBER)  # all that is evaluated: names of step, numbers, arithmetic

def operators(w, told, p, decoder, memory):
    """F, G, ... of a layer, whose tensors begin with p. decoder: its schemes solve y' = F + C + G."""
    op = {"norm%d" % s: lambda x, p=p + "norm.%d" % s: norm(w, p, x, told) for s in range(1, 257)}
    for s in range(1, 10):
        one = {name: lambda x, f=f, p=p + "%s.%d" % (kind, s), more=more: f(w, told, p, x, *more)
               for name, kind, f, more in (("F", "attn", F, ()), ("C", "cross", C, (memory,)), ("G", "ffn", G, ()))}
        def turns(x, names, one=one):
            for at in names:
                x = x + one[at](x)
            return x
        all_of = "FCG" if decoder else "FG"
        one["H"] = lambda x, one=one, all_of=all_of: sum(one[at](x) for at in all_of)
        one["L"] = lambda x, turns=turns, all_of=all_of: turns(x, all_of) - x
        one["A"] = lambda x, turns=turns: turns(x, "FC") - x
        op.update({name + str(s): f for name, f in one.items()}, **(one if s == 1 else {}))
    return op

def step(w, told, layer, y, carried, side="", memory=None):
    """y' of one layer: the statements of a scheme's text are Python's. carried: what the scheme carries to it, by name, and
    where it returns on to the next layer; empty before the first."""
    text = statements(told, side)
    op = {"__builtins__": {}, "y": y, "sqrt": np.sqrt, **carried,
          **operators(w, told, "%slayers.%d." % (side, layer), bool(re.search(r"^decoder|\b[AC]\d?\(", text, re.M)), memory)}
    for kind, name, value in ordered(re.findall(r"^(?:(let|learn|gate|carry) +)?([\w']+) *= *([^#\n]*)", text, re.M)):
        if kind == "carry" and (carried or value.strip() == "embedding"):
            continue
        p = "%slayers.%d.scheme.%s" % (side, layer, name)
        if kind == "learn":  # a layer has those that it reads
            op[name] = w[p] if p in w else eval(value.replace("^", "**"), op)
        elif kind == "gate" and p + ".weight" not in w:
            op[name] = 0
        elif kind == "gate":
            act, a, b = re.match(r"(\w+)\((\w+), *(\w+)\)", value).groups()
            z = linear(w, p, np.concatenate([op[a], op[b]], 1))
            op[name] = np.tanh(z) if act == "tanh" else 1 / (1 + np.exp(-z))
        elif re.fullmatch(PLAIN, value):
            op[name] = eval(value.replace("^", "**"), op)
        else:
            raise ValueError("not read here: " + value)
    carried.update({name: op[name + "'"] for name in re.findall(r"^carry +(\w+)", text, re.M)})
    return op["y'"]

def embedded(told, side=""):
    """What the scheme carries and begins by an embedding of its own, and how the names of its tensors begin."""
    names = re.findall(r"^carry +(\w+)(?: *= *(\w+))?", statements(told, side), re.M)
    return {name: "%sstart.%d." % (side, i + 1) for i, (name, by) in enumerate(names) if by == "embedding"}

def begun(told, w, ids, side):
    return {name: embed(told, w, ids, of=of) for name, of in embedded(told, side).items()}

def embed(told, w, ids, segments=None, of=""):
    D, T = int(told["width"]), len(ids)
    y, angle = w[of + "embed.weight"][ids], np.arange(T)[:, None] * 10000.0 ** -(np.arange(D // 2) / max(D // 2 - 1, 1))
    if of + "segment.weight" in w:
        y = y + w["segment.weight"][[0] * T if segments is None else segments]
    if told.get("plain-input") != "yes":
        y = np.sqrt(D) * y
    if told["positions"] == "learned":
        y = y + w[of + "position.weight"][:T]
    if told["positions"] in ("sinusoid", "both"):
        y = y + np.concatenate([np.sin(angle), np.cos(angle)], 1)
    return y

def encoded(told, w, source):
    """The encoder's output under its norm; the source's last id is that of <eos>."""
    y, carried = embed(told, w, source), begun(told, w, source, "encoder.")
    for layer in range(int(told.get("encoder-layers", told["layers"]))):
        y = step(w, told, layer, y, carried, "encoder.")
    return norm(w, "encoder.norm", y, told)

def hidden(told, w, ids, segments=None, source=None):
    """The output, under its norm where it has one, a row for each id; segments: 0 or 1 for each id, of a model of two."""
    side, memory = ("", None) if source is None else ("decoder.", encoded(told, w, source))
    y, carried = embed(told, w, ids, segments), begun(told, w, ids, side)
    for layer in range(int(told["layers"])):
        y = step(w, told, layer, y, carried, side, memory)
    return norm(w, "final_norm", y, told) if "final_norm.weight" in w else y

def logits(told, w, ids, segments=None, source=None):
    """Of words: for each id what follows it, of an encoder alone what it is. Targets and language models begin with <eos>."""
    h = hidden(told, w, ids, segments, source)
    if told["format"] == "trotter encoder 1":
        h = norm(w, "head.norm", gelu(linear(w, "head.dense", h), told), told)
    return h @ w.get("output.weight", w["embed.weight"][:int(told.get("vocabulary_size", len(w["embed.weight"])))]).T + w.get("output.bias", 0)

def classes(told, w, ids, segments=None):
    """Of an encoder that tells labels: logits of its classes, or its number."""
    z = linear(w, "classes", np.tanh(linear(w, "pool", hidden(told, w, ids, segments)[0])))
    return z * float(told.get("label_sd", 1)) + float(told.get("label_mean", 0))

if __name__ == "__main__":
    told, w = read(sys.argv[1] + "/model.safetensors")
    tells_words = told["format"] != "trotter encoder 1" or "head.dense.weight" in w
    *source, ids = [list(map(int, x.split())) for x in " ".join(sys.argv[2:]).split("/")]
    told_by = (lambda *x: logits(*x, source=source[0])) if source else logits if tells_words else classes
    np.savetxt(sys.stdout, told_by(told, w, ids), "%.9g")
