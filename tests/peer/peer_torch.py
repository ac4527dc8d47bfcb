"""peer_torch.py DUMP: an independent reading of Trotter's models, in PyTorch and double precision.

For each network below, DUMP writes a model with its logits, loss, gradient and parameters after ten steps
of Adam (dump.c), in single and in double precision. Here the same is computed from the parameters alone, by
automatic differentiation, from the definition of the model and of its scheme. All of it must agree to rounding:
an error is the norm of a difference over the norm of the reference."""
import json, math, struct, subprocess, sys, tempfile

try:
    import torch
except ImportError as reason:
    print("check-peer: SKIPPED, no PyTorch here (%s): apt-get install python3-torch" % reason)
    sys.exit(0)

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

# Sums of some hundred products, 2^-24 or 2^-53 each, through at most 32 sublayers one behind another, each
# amplifying little.
TOLERANCE = {"cpu-f32": 1e-5, "cpu-f64": 1e-12}
# Adam divides by the gradient's own size, so entries near zero carry their relative error on: so many times
# the tolerance, by parts of the path (a single number may come back to where it began).
TRAVEL = 10
# What a reading that is wrong on purpose is at least off by.
MISTAKEN = 1e-3

F32_F64 = {"F32": torch.float32, "F64": torch.float64}
linear = torch.nn.functional.linear


def safetensors(path):
    """Format: 8 bytes of length, a JSON header, the numbers (huggingface/safetensors)."""
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + size])
    head.pop("__metadata__", None)
    tensors = {}
    for name, t in head.items():
        begin, end = t["data_offsets"]
        x = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=F32_F64[t["dtype"]])
        tensors[name] = x.double().reshape(t["shape"])
    return tensors


def norm(x, w, b):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, 1e-5)


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


class Reading:
    """A sequence (T, d) through the sublayers of one layer. A decoder's reads memory (T', d); memory None: a language
    model's, or an encoder's, whose attention sees all of its sequence."""

    def __init__(self, w, c, prefix, layer, memory=None):
        self.w, self.c, self.layer, self.memory = w, c, "%slayers.%d." % (prefix, layer), memory
        encodes = prefix == "encoder." or c["alone"]
        self.post, self.causal = c["post"], not encodes or c["mistake"] == "an encoder with a mask"

    def get(self, name):
        return self.w[self.layer + name]

    def linear(self, x, name):
        return linear(x, self.get(name + ".weight"), self.get(name + ".bias"))

    def normed(self, x, p):
        return norm(x, self.get(p + ".norm.weight"), self.get(p + ".norm.bias"))

    def inside(self, y, p):
        return y if self.post else self.normed(y, p)

    def add(self, y, k, p):
        """A sub-step y + k of sublayer p."""
        return self.normed(y + k, p) if self.post else y + k

    def heads(self, x, n):
        return x.view(len(x), n, self.c["heads"], -1).permute(1, 2, 0, 3)

    def mix(self, a, v, p):
        return self.linear((a.softmax(-1) @ v).transpose(0, 1).reshape(a.shape[1], -1), p + ".out")

    def F(self, y, s=1):
        p, T = "attn.%d" % s, y.shape[0]
        q, k, v = self.heads(self.linear(self.inside(y, p), p + ".qkv"), 3)
        apart = torch.arange(T)[None, :] - torch.arange(T)[:, None]
        right = self.c["clip"] if self.c["mistake"] != "relative rows of the past alone" else 0
        r = self.get(p + ".relative.weight")[apart.clamp(-self.c["clip"], right) + self.c["clip"]]
        a = (q @ k.transpose(1, 2) + torch.einsum("hie,ije->hij", q, r)) / math.sqrt(q.shape[-1])
        if self.causal:
            a = a.masked_fill(apart > 0, -math.inf)
        return self.mix(a, v, p)

    def C(self, y, s=1):
        p = "cross.%d" % s
        q, = self.heads(self.linear(self.inside(y, p), p + ".q"), 1)
        k, v = self.heads(self.linear(self.memory, p + ".kv"), 2)
        return self.mix(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), v, p)

    def G(self, y, s=1):
        p = "ffn.%d" % s
        u, exchanged = self.linear(self.inside(y, p), p + ".up"), self.c["mistake"] == "ReLU and GELU exchanged"
        return self.linear(u.relu() if (self.c["act"] == "relu") != exchanged else gelu(u), p + ".down")

    def L(self, y):
        x = y + self.F(y)
        if self.memory is not None:
            x = x + self.C(x)
        return x + self.G(x) - y

    def H(self, y):
        k = self.F(y) + self.G(y)
        return k if self.memory is None else k + self.C(y)

    def attend(self, y):
        """F, and of a decoder C behind it."""
        order = [("attn.1", self.F), ("cross.1", self.C)][:1 if self.memory is None else 2]
        for p, sublayer in reversed(order) if self.c["mistake"] == "C before F" else order:
            y = self.add(y, sublayer(y), p)
        return y


def transformer(r, y, past):
    y = r.attend(y)
    return r.add(y, r.G(y), "ffn.1")


def macaron(r, y, past):
    y = r.attend(r.add(y, r.G(y, 1) / 2, "ffn.1"))
    return r.add(y, r.G(y, 2) / 2, "ffn.2")


def crossed(r, y, past):
    """y' = y + F + C + G, all at one point: Euler's method."""
    return y + r.H(y)


def heun(r, y, past):
    k1 = r.L(y)
    return y + (k1 + r.L(y + k1)) / 2


def runge_kutta(f, y):
    k1 = f(y)
    k2 = f(y + k1 / 2)
    k3 = f(y + k2 / 2)
    return y + (k1 + 2 * k2 + 2 * k3 + f(y + k3)) / 6


def rk4(r, y, past):
    return runge_kutta(r.L, y)


def rk4_sum(r, y, past):
    return runge_kutta(r.H, y)


def gated(r, y, past):
    k1 = r.L(y)
    k2 = r.L(y + k1)
    g = torch.sigmoid(torch.cat([k1, k2], -1) @ r.get("scheme.g.weight").t() + r.get("scheme.g.bias"))
    return y + g * k1 + (1 - g) * k2


def adams(r, y, past):
    past.append(r.L(y))
    return y + past[-1] if len(past) == 1 else y + 1.5 * past[-1] - 0.5 * past[-2]


# Scheme, layers, activation, output's matrix, norms; and of an encoder scheme and layers.
NETWORKS = [("transformer", 1, "relu", "tied", "pre", transformer), ("transformer", 2, "gelu", "untied", "pre", transformer),
            ("macaron", 1, "relu", "tied", "pre", macaron), ("heun-layer", 2, "relu", "tied", "pre", heun),
            ("rk4-layer", 1, "relu", "tied", "pre", rk4), ("rk4-layer", 2, "gelu", "untied", "pre", rk4),
            ("rk2-gate", 2, "gelu", "tied", "pre", gated), ("ab2-layer", 4, "relu", "tied", "pre", adams),
            ("transformer", 2, "relu", "tied", "post", transformer), ("macaron", 2, "gelu", "untied", "post", macaron),
            ("transformer-decoder", 1, "relu", "tied", "pre", transformer, "transformer", 1, transformer),
            ("transformer-decoder", 2, "gelu", "untied", "pre", transformer, "transformer", 3, transformer),
            ("macaron-decoder", 2, "relu", "tied", "pre", macaron, "macaron", 2, macaron),
            ("transformer-decoder", 2, "relu", "tied", "pre", transformer, "rk4-layer", 1, rk4),
            ("rk4-layer-decoder", 1, "gelu", "tied", "pre", rk4, "heun-layer", 2, heun),
            ("rk4-decoder", 1, "relu", "untied", "pre", rk4_sum, "rk4", 1, rk4_sum),
            ("euler-decoder", 2, "relu", "tied", "pre", crossed, "macaron", 1, macaron),
            ("rk2-gate-decoder", 1, "gelu", "tied", "pre", gated, "rk2-gate", 2, gated),
            ("ab2-layer-decoder", 3, "relu", "tied", "pre", adams, "ab2-layer", 2, adams),
            ("transformer-decoder", 2, "relu", "tied", "post", transformer, "transformer", 2, transformer),
            ("macaron-decoder", 1, "gelu", "untied", "post", macaron, "macaron", 2, macaron)]

# Encoders alone: scheme, layers, activation, output's matrix, norms; whether they are asked masked words, how many classes
# (1: a number) and segments they have.
ALONE = [("transformer", 1, "relu", "tied", "pre", transformer, 1, 0, 0),
         ("transformer", 2, "gelu", "untied", "post", transformer, 1, 0, 0),
         ("transformer", 2, "gelu", "tied", "post", transformer, 1, 2, 2),  # BERT's
         ("transformer", 2, "relu", "untied", "pre", transformer, 1, 2, 2),
         ("macaron", 1, "gelu", "tied", "pre", macaron, 1, 1, 2),
         ("heun-layer", 2, "relu", "tied", "pre", heun, 1, 3, 0),
         ("transformer", 2, "relu", "tied", "pre", transformer, 0, 3, 0),
         ("macaron", 2, "gelu", "tied", "post", macaron, 0, 3, 2),
         ("transformer", 1, "gelu", "tied", "pre", transformer, 0, 1, 0),
         ("transformer", 2, "relu", "tied", "post", transformer, 0, 1, 2),
         ("rk4-layer", 1, "gelu", "tied", "pre", rk4, 0, 2, 2)]

# Readings that are wrong on purpose, and of which networks. A comparison has to see each of them there, and no other.
MISTAKES = {"an encoder with a mask": lambda c: c["pair"] or c["alone"],
            "relative rows of the past alone": lambda c: c["pair"] or c["alone"],
            # Sums in one line have no order of C and F.
            "C before F": lambda c: c["pair"] and c["step"] in (transformer, macaron),
            "the source of the next sequence": lambda c: c["pair"],
            "keys of the encoder's input": lambda c: c["pair"],
            # The memory of a post-norm network has no norm apart.
            "no norm over the memory": lambda c: c["pair"] and not c["post"],
            "ReLU and GELU exchanged": lambda c: True,
            "no segments": lambda c: c["segments"],
            "segments beside the scaled word": lambda c: c["segments"],
            "tanh for words": lambda c: c["masked"],
            "no norm before the words": lambda c: c["masked"],
            "no bias of words": lambda c: c["masked"],
            "GELU for classes": lambda c: c["classes"],
            "classes of the last row": lambda c: c["classes"]}


def positions(T, d):
    w = 10000 ** (-torch.arange(d // 2) / (d // 2 - 1))
    angle = torch.arange(T)[:, None] * w
    return torch.cat([angle.sin(), angle.cos()], 1)


def steps(w, c, prefix, layers, step, y, memory=None):
    past = []
    for layer in range(layers):
        y = step(Reading(w, c, prefix, layer, memory), y, past)
    return y


def embedding(w, c, tokens, segments=None):
    x = w["embed.weight"][tokens]
    scale = math.sqrt(x.shape[1])
    if segments is not None and c["mistake"] != "no segments":
        x = x + w["segment.weight"][segments] / (scale if c["mistake"] == "segments beside the scaled word" else 1)
    return scale * x + positions(len(tokens), x.shape[1])


def encoded(w, c, s):
    """What the decoder reads of source s."""
    if c["mistake"] == "the source of the next sequence":
        s = (s + 1) % (len(c["source_start"]) - 1)
    y = embedding(w, c, c["source"][c["source_start"][s]:c["source_start"][s + 1]])
    if c["mistake"] != "keys of the encoder's input":
        y = steps(w, c, "encoder.", c["encoder_layers"], c["above"], y)
    if c["post"] or c["mistake"] == "no norm over the memory":
        return y
    return norm(y, w["encoder.norm.weight"], w["encoder.norm.bias"])


def output(w, c):
    """Rows (N, d), under the output's norm."""
    rows = []
    for s, (a, b) in enumerate(zip(c["start"], c["start"][1:])):
        x = embedding(w, c, c["input"][a:b], c["segment"][a:b] if c["segments"] else None)
        y = steps(w, c, "decoder." if c["pair"] else "", c["layers"], c["step"], x, encoded(w, c, s) if c["pair"] else None)
        rows.append(y if c["post"] else norm(y, w["final_norm.weight"], w["final_norm.bias"]))
    return torch.cat(rows)


def words(w, c, h):
    """a = LN(gelu(h W^T + b)), z = a E^T + bias, of the rows h that are asked."""
    act = torch.tanh if c["mistake"] == "tanh for words" else gelu
    a = act(linear(h, w["head.dense.weight"], w["head.dense.bias"]))
    if c["mistake"] != "no norm before the words":
        a = norm(a, w["head.norm.weight"], w["head.norm.bias"])
    bias = w["output.bias"] if c["mistake"] != "no bias of words" else None
    return linear(a, w.get("output.weight", w["embed.weight"]), bias)


def classes(w, c, h):
    """z = tanh(h W_p^T + b_p) W_c^T + b_c, of the sequences' first rows h."""
    act = gelu if c["mistake"] == "GELU for classes" else torch.tanh
    return linear(act(linear(h, w["pool.weight"], w["pool.bias"])), w["classes.weight"], w["classes.bias"])


def told(w, c):
    """Logits of rows, or of what an encoder alone is asked."""
    h, z = output(w, c), {}
    if not c["alone"]:
        z["logits"] = linear(h, w.get("output.weight", w["embed.weight"]))
    if c["masked"]:
        z["logits"] = words(w, c, h[c["row"]])
    if c["classes"]:
        last = c["mistake"] == "classes of the last row"
        z["classes"] = classes(w, c, h[[i - 1 for i in c["start"][1:]] if last else c["start"][:-1]])
    return z


def losses(w, c):
    """Their sum is what the gradient is of; the engine tells the first."""
    z, each = told(w, c), []
    if "logits" in z:
        each.append(torch.nn.functional.cross_entropy(z["logits"], torch.tensor(c["word" if c["alone"] else "target"])))
    if c["classes"] == 1:
        each.append(torch.nn.functional.mse_loss(z["classes"].flatten(), torch.tensor(c["value"])))
    elif c["classes"]:
        each.append(torch.nn.functional.cross_entropy(z["classes"], torch.tensor(c["label"])))
    return each


def travel(w, c):
    """w after the steps of Adam, each with the gradient cut to the global norm. Gives the first norm, and how long
    the path of every tensor is."""
    adam = torch.optim.Adam(w.values(), lr=c["rate"], betas=c["beta"], eps=c["eps"])
    norms, path = [], dict.fromkeys(w, 0)
    for i in range(c["steps"]):
        adam.zero_grad()
        sum(losses(w, c)).backward()
        norms.append(math.sqrt(sum(float((x.grad ** 2).sum()) for x in w.values())))
        for x in w.values():  # clip_grad_norm_ adds 1e-6 to the norm
            x.grad *= min(1, c["limit"] / norms[-1])
        before = {k: x.detach().clone() for k, x in w.items()}
        adam.step()
        for k, x in w.items():
            path[k] += float((x.detach() - before[k]).norm())
    return norms[0], path


class Judge:
    def __init__(self, network):
        self.network, self.failed, self.worst = network, 0, {}

    def compare(self, kind, name, got, want, tolerance, scale=None):
        scale = float(want.norm()) if scale is None else scale
        error = float((got - want).norm()) / scale
        self.worst[kind] = max(self.worst.get(kind, 0), error)
        if not error <= tolerance:
            self.failed += 1
            print("check-peer: %s: %s of %s: error %.2g above %.2g" % (self.network, kind, name, error, tolerance))

    def control(self, kind, got, want, tolerance):
        """The comparison sees an error of a thousandth."""
        if float((1.001 * got - want).norm()) / float(want.norm()) <= tolerance:
            self.failed += 1
            print("check-peer: %s: blind to an error in %s" % (self.network, kind))


def zero_by_symmetry(name, x, d):
    """A key's bias shifts a row's scores alike: its gradient is rounding alone."""
    if name.endswith("qkv.bias"):
        x = torch.cat([x[:d], x[2 * d:]])
    if name.endswith("kv.bias") and not name.endswith("qkv.bias"):
        x = x[d:]
    return x


def distance(w, c, engine):
    """The largest error of what the engine tells, for a reading."""
    with torch.no_grad():
        return max(float((engine[k] - z).norm() / z.norm()) for k, z in told(w, c).items())


def see_mistakes(judge, w, c, engine, tolerance):
    """Each mistake changes what is told where it can be made, and any tensor that is spoilt does."""
    for mistake, concerns in MISTAKES.items():
        error = distance(w, dict(c, mistake=mistake), engine)
        if not (error > MISTAKEN if concerns(c) else error <= tolerance):
            judge.failed += 1
            print("check-peer: %s: with %s: error %.2g" % (judge.network, mistake, error))
    for name, x in w.items():
        if not distance(dict(w, **{name: 1.1 * x}), c, engine) > tolerance:
            judge.failed += 1
            print("check-peer: %s: blind to %s" % (judge.network, name))


def check(dump, backend, folder, network):
    (scheme, layers, act, tying, norms, step), rest, what = network[:6], list(network[6:]), network[0]
    above = rest.pop() if rest and network in NETWORKS else None
    if above:
        what = "%s (%d) + %s" % (*rest, scheme)
    elif rest:
        what = "%s (masked %d, classes %d, segments %d)" % (scheme, *rest)
    judge = Judge("%s: %s, %d layer(s), %s, %s, %s" % (backend, what, layers, act, tying, norms))
    subprocess.run([dump, folder, backend] + [str(x) for x in (scheme, layers, act, tying, norms, *rest)], check=True)
    c = dict(json.load(open(folder + "/batch.json")), step=step, above=above, post=norms == "post", mistake=None)
    c.update(pair=above is not None, alone=bool(c["masked"] or c["classes"]))
    w, tolerance = safetensors(folder + "/start.safetensors"), TOLERANCE[backend]
    d = w["embed.weight"].shape[1]
    for x in w.values():
        x.requires_grad_()

    engine = {}
    for kind, z in told(w, c).items():
        data = bytearray(open("%s/%s.f64" % (folder, kind), "rb").read())
        z, engine[kind] = z.detach(), torch.frombuffer(data, dtype=torch.float64).view(z.shape)
        judge.compare(kind, "all", engine[kind], z, tolerance)
        judge.control(kind, engine[kind], z, tolerance)
    see_mistakes(judge, w, c, engine, tolerance)

    each = losses(w, c)
    judge.compare("loss", "the batch", torch.tensor(c["loss"]), each[0].detach(), tolerance)
    sum(each).backward()
    ours = safetensors(folder + "/gradient.safetensors")
    assert sorted(ours) == sorted(w), "names of tensors"
    for name in w:
        g, h = (zero_by_symmetry(name, x, d) for x in (ours[name], w[name].grad))
        judge.compare("gradient", name, g, h, tolerance)
        judge.control("gradient of " + name, g, h, tolerance)

    total, path = travel(w, c)
    judge.compare("norm", "gradient", torch.tensor(c["norm"]), torch.tensor(total), tolerance)
    end = safetensors(folder + "/end.safetensors")
    for name, x in w.items():
        p, q = (zero_by_symmetry(name, x, d) for x in (end[name], x.detach()))
        judge.compare("Adam", name, p, q, TRAVEL * tolerance, path[name])
    print("check-peer: %-87s %s" % (judge.network, "FAILED" if judge.failed else "agrees: largest error " +
          ", ".join("%s %.1e" % x for x in judge.worst.items())))
    return judge.failed


with tempfile.TemporaryDirectory() as folder:
    failed = sum(check(sys.argv[1], b, folder, network) for network in NETWORKS + ALONE for b in TOLERANCE)
print("check-peer: %d networks in two precisions, PyTorch %s: %s" % (
    len(NETWORKS + ALONE), torch.__version__, "%d differences" % failed if failed else "all agree"))
sys.exit(failed > 0)
