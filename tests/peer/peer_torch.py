"""peer_torch.py DUMP: an independent reading of Trotter's models, in PyTorch and double precision.

For each network below, DUMP writes a model with its logits, loss, gradient and parameters after ten steps
of Adam (dump.c). Here the same is computed from the parameters alone, by automatic differentiation, from
the definition of the model and of its scheme. All of it must agree to the rounding of single precision:
an error is the norm of a difference over the norm of the reference."""
import json, math, struct, subprocess, sys, tempfile

try:
    import torch
except ImportError as reason:
    print("check-peer: SKIPPED, no PyTorch here (%s): apt-get install python3-torch" % reason)
    sys.exit(0)

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

# Sums of some hundred products in single precision, 2^-24 each, through at most 32 sublayers one behind
# another, each amplifying little.
TOLERANCE = 1e-5
# Adam divides by the gradient's own size, so entries near zero carry their relative error on: by parts
# of the distance travelled.
TRAVEL_TOLERANCE = 1e-4


def safetensors(path):
    """Format: 8 bytes of length, a JSON header, the numbers (huggingface/safetensors)."""
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + size])
    head.pop("__metadata__", None)
    tensors = {}
    for name, t in head.items():
        assert t["dtype"] == "F32", name
        begin, end = t["data_offsets"]
        x = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.float32)
        tensors[name] = x.double().reshape(t["shape"])
    return tensors


def norm(x, w, b):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, 1e-5)


class Reading:
    """A sequence (T, d) through the sublayers of one layer. A decoder's reads memory (T', d); memory None: a language
    model's, or an encoder's, whose attention sees all of its sequence."""

    def __init__(self, w, c, prefix, layer, memory=None):
        self.w, self.c, self.layer, self.memory = w, c, "%slayers.%d." % (prefix, layer), memory
        self.post, self.causal = c["post"], prefix != "encoder." or c["mistake"] == "an encoder with a mask"

    def get(self, name):
        return self.w[self.layer + name]

    def linear(self, x, name):
        return x @ self.get(name + ".weight").t() + self.get(name + ".bias")

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
        u = self.linear(self.inside(y, p), p + ".up")
        if self.c["act"] == "relu":
            u = u.relu()
        else:  # the tanh form
            u = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3)))
        return self.linear(u, p + ".down")

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

# Readings that are wrong on purpose, of networks of two sides. A comparison has to see each of them.
MISTAKES = ["an encoder with a mask", "relative rows of the past alone", "C before F", "the source of the next sequence",
            "keys of the encoder's input", "no norm over the memory"]


def applies(mistake, post, step):
    """Some are none: sums in one line have no order of C and F, and the memory of a post-norm network has no norm apart."""
    return not (mistake == "C before F" and step not in (transformer, macaron)) and not (
        mistake == "no norm over the memory" and post)


def positions(T, d):
    w = 10000 ** (-torch.arange(d // 2) / (d // 2 - 1))
    angle = torch.arange(T)[:, None] * w
    return torch.cat([angle.sin(), angle.cos()], 1)


def steps(w, c, prefix, layers, step, y, memory=None):
    past = []
    for layer in range(layers):
        y = step(Reading(w, c, prefix, layer, memory), y, past)
    return y


def embedding(w, tokens):
    E = w["embed.weight"]
    return math.sqrt(E.shape[1]) * E[tokens] + positions(len(tokens), E.shape[1])


def encoded(w, c, s):
    """What the decoder reads of source s."""
    if c["mistake"] == "the source of the next sequence":
        s = (s + 1) % (len(c["source_start"]) - 1)
    y = embedding(w, c["source"][c["source_start"][s]:c["source_start"][s + 1]])
    if c["mistake"] != "keys of the encoder's input":
        y = steps(w, c, "encoder.", c["encoder_layers"], c["above"], y)
    if c["post"] or c["mistake"] == "no norm over the memory":
        return y
    return norm(y, w["encoder.norm.weight"], w["encoder.norm.bias"])


def logits(w, c):
    rows, pair = [], c["above"] is not None
    for s, (a, b) in enumerate(zip(c["start"], c["start"][1:])):
        y = steps(w, c, "decoder." if pair else "", c["layers"], c["step"], embedding(w, c["input"][a:b]),
                  encoded(w, c, s) if pair else None)
        if not c["post"]:
            y = norm(y, w["final_norm.weight"], w["final_norm.bias"])
        rows.append(y @ w.get("output.weight", w["embed.weight"]).t())
    return torch.cat(rows)


def loss(w, c):
    return torch.nn.functional.cross_entropy(logits(w, c), torch.tensor(c["target"]))


def travel(w, c):
    """w after the steps of Adam, each with the gradient cut to the global norm."""
    adam = torch.optim.Adam(w.values(), lr=c["rate"], betas=c["beta"], eps=c["eps"])
    for i in range(c["steps"]):
        adam.zero_grad()
        loss(w, c).backward()
        total = torch.nn.utils.clip_grad_norm_(w.values(), c["limit"] if c["limit"] > 0 else math.inf)
        first = float(total) if i == 0 else first
        adam.step()
    return first


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


def see_mistakes(judge, w, c, engine):
    """Each changes the logits by far more than what a comparison allows."""
    for mistake in MISTAKES:
        with torch.no_grad():
            z = logits(w, dict(c, mistake=mistake))
        error = float((engine - z).norm()) / float(z.norm())
        if applies(mistake, c["post"], c["step"]) != (error > 100 * TOLERANCE):
            judge.failed += 1
            print("check-peer: %s: with %s: error %.2g" % (judge.network, mistake, error))


def check(dump, folder, scheme, layers, act, tying, norms, step, encoder=None, above_layers=0, above=None):
    pair = [encoder, str(above_layers)] if encoder else []
    subprocess.run([dump, folder, scheme, str(layers), act, tying, norms] + pair, check=True)
    c = dict(json.load(open(folder + "/batch.json")), step=step, above=above, post=norms == "post", mistake=None)
    w = safetensors(folder + "/start.safetensors")
    d, start = w["embed.weight"].shape[1], {k: x.clone() for k, x in w.items()}
    judge = Judge("%s%s, %d layer(s), %s, %s, %s" % (
        "%s (%d) + " % (encoder, above_layers) if encoder else "", scheme, layers, act, tying, norms))
    for x in w.values():
        x.requires_grad_()

    z = logits(w, c).detach()
    f32 = torch.frombuffer(bytearray(open(folder + "/logits.f32", "rb").read()), dtype=torch.float32)
    f32 = f32.double().view(z.shape)
    judge.compare("logits", "all", f32, z, TOLERANCE)
    judge.control("logits", f32, z, TOLERANCE)
    if encoder:
        see_mistakes(judge, w, c, f32)

    value = loss(w, c)
    judge.compare("loss", "the batch", torch.tensor(c["loss"]), value.detach(), TOLERANCE)
    value.backward()
    ours = safetensors(folder + "/gradient.safetensors")
    assert sorted(ours) == sorted(w), "names of tensors"
    for name in w:
        g, h = (zero_by_symmetry(name, x, d) for x in (ours[name], w[name].grad))
        judge.compare("gradient", name, g, h, TOLERANCE)
        judge.control("gradient of " + name, g, h, TOLERANCE)

    total = travel(w, c)
    judge.compare("norm", "gradient", torch.tensor(c["norm"]), torch.tensor(total), TOLERANCE)
    end = safetensors(folder + "/end.safetensors")
    for name, x in w.items():
        p, q, s = (zero_by_symmetry(name, x, d) for x in (end[name], x.detach(), start[name]))
        judge.compare("Adam", name, p, q, TRAVEL_TOLERANCE, float((q - s).norm()))
    print("check-peer: %-72s %s" % (judge.network, "FAILED" if judge.failed else "agrees: largest error " +
          ", ".join("%s %.1e" % x for x in judge.worst.items())))
    return judge.failed


with tempfile.TemporaryDirectory() as folder:
    failed = sum(check(sys.argv[1], folder, *network) for network in NETWORKS)
print("check-peer: %d networks, PyTorch %s: %s" % (len(NETWORKS), torch.__version__,
                                                   "%d differences" % failed if failed else "all agree"))
sys.exit(failed > 0)
