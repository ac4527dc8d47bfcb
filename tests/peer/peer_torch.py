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
    """A sequence (T, d) through the sublayers of one layer."""

    def __init__(self, w, c, layer):
        self.w, self.c, self.layer = w, c, layer

    def get(self, name):
        return self.w["layers.%d.%s" % (self.layer, name)]

    def linear(self, x, name):
        return x @ self.get(name + ".weight").t() + self.get(name + ".bias")

    def F(self, y, s=1):
        p, T, h = "attn.%d." % s, y.shape[0], self.c["heads"]
        x = norm(y, self.get(p + "norm.weight"), self.get(p + "norm.bias"))
        q, k, v = self.linear(x, p + "qkv").view(T, 3, h, -1).permute(1, 2, 0, 3)
        apart = (torch.arange(T)[None, :] - torch.arange(T)[:, None]).clamp(-self.c["clip"], 0)
        r = self.get(p + "relative.weight")[apart + self.c["clip"]]
        a = (q @ k.transpose(1, 2) + torch.einsum("hie,ije->hij", q, r)) / math.sqrt(q.shape[-1])
        a = a.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).softmax(-1)
        return self.linear((a @ v).transpose(0, 1).reshape(T, -1), p + "out")

    def G(self, y, s=1):
        p = "ffn.%d." % s
        u = self.linear(norm(y, self.get(p + "norm.weight"), self.get(p + "norm.bias")), p + "up")
        if self.c["act"] == "relu":
            u = u.relu()
        else:  # the tanh form
            u = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3)))
        return self.linear(u, p + "down")

    def L(self, y):
        f = self.F(y)
        return f + self.G(y + f)


def transformer(r, y, past):
    y = y + r.F(y)
    return y + r.G(y)


def macaron(r, y, past):
    k1 = r.G(y, 1)
    k2 = r.F(y + k1 / 2)
    return y + k1 / 2 + k2 + r.G(y + k1 / 2 + k2, 2) / 2


def heun(r, y, past):
    k1 = r.L(y)
    return y + (k1 + r.L(y + k1)) / 2


def rk4(r, y, past):
    k1 = r.L(y)
    k2 = r.L(y + k1 / 2)
    k3 = r.L(y + k2 / 2)
    return y + (k1 + 2 * k2 + 2 * k3 + r.L(y + k3)) / 6


def gated(r, y, past):
    k1 = r.L(y)
    k2 = r.L(y + k1)
    g = torch.sigmoid(torch.cat([k1, k2], -1) @ r.get("scheme.g.weight").t() + r.get("scheme.g.bias"))
    return y + g * k1 + (1 - g) * k2


def adams(r, y, past):
    past.append(r.L(y))
    return y + past[-1] if len(past) == 1 else y + 1.5 * past[-1] - 0.5 * past[-2]


NETWORKS = [("transformer", 1, "relu", "tied", transformer), ("transformer", 2, "gelu", "untied", transformer),
            ("macaron", 1, "relu", "tied", macaron), ("heun-layer", 2, "relu", "tied", heun),
            ("rk4-layer", 1, "relu", "tied", rk4), ("rk4-layer", 2, "gelu", "untied", rk4),
            ("rk2-gate", 2, "gelu", "tied", gated), ("ab2-layer", 4, "relu", "tied", adams)]


def positions(T, d):
    w = 10000 ** (-torch.arange(d // 2) / (d // 2 - 1))
    angle = torch.arange(T)[:, None] * w
    return torch.cat([angle.sin(), angle.cos()], 1)


def logits(w, c, step):
    rows = []
    for a, b in zip(c["start"], c["start"][1:]):
        E = w["embed.weight"]
        y = math.sqrt(E.shape[1]) * E[c["input"][a:b]] + positions(b - a, E.shape[1])
        past = []
        for layer in range(c["layers"]):
            y = step(Reading(w, c, layer), y, past)
        y = norm(y, w["final_norm.weight"], w["final_norm.bias"])
        rows.append(y @ w.get("output.weight", E).t())
    return torch.cat(rows)


def loss(w, c, step):
    return torch.nn.functional.cross_entropy(logits(w, c, step), torch.tensor(c["target"]))


def travel(w, c, step):
    """w after the steps of Adam, each with the gradient cut to the global norm."""
    adam = torch.optim.Adam(w.values(), lr=c["rate"], betas=c["beta"], eps=c["eps"])
    for i in range(c["steps"]):
        adam.zero_grad()
        loss(w, c, step).backward()
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
    return x


def check(dump, folder, scheme, layers, act, tying, step):
    subprocess.run([dump, folder, scheme, str(layers), act, tying], check=True)
    c = json.load(open(folder + "/batch.json"))
    w = safetensors(folder + "/start.safetensors")
    d, start = w["embed.weight"].shape[1], {k: x.clone() for k, x in w.items()}
    judge = Judge("%s, %d layer(s), %s, %s" % (scheme, layers, act, tying))
    for x in w.values():
        x.requires_grad_()

    z = logits(w, c, step).detach()
    f32 = torch.frombuffer(bytearray(open(folder + "/logits.f32", "rb").read()), dtype=torch.float32)
    judge.compare("logits", "all", f32.double().view(z.shape), z, TOLERANCE)
    judge.control("logits", f32.double().view(z.shape), z, TOLERANCE)

    value = loss(w, c, step)
    judge.compare("loss", "the batch", torch.tensor(c["loss"]), value.detach(), TOLERANCE)
    value.backward()
    ours = safetensors(folder + "/gradient.safetensors")
    assert sorted(ours) == sorted(w), "names of tensors"
    for name in w:
        g, h = (zero_by_symmetry(name, x, d) for x in (ours[name], w[name].grad))
        judge.compare("gradient", name, g, h, TOLERANCE)
        judge.control("gradient of " + name, g, h, TOLERANCE)

    total = travel(w, c, step)
    judge.compare("norm", "gradient", torch.tensor(c["norm"]), torch.tensor(total), TOLERANCE)
    end = safetensors(folder + "/end.safetensors")
    for name, x in w.items():
        p, q, s = (zero_by_symmetry(name, x, d) for x in (end[name], x.detach(), start[name]))
        judge.compare("Adam", name, p, q, TRAVEL_TOLERANCE, float((q - s).norm()))
    print("check-peer: %-38s %s" % (judge.network, "FAILED" if judge.failed else "agrees: largest error " +
          ", ".join("%s %.1e" % x for x in judge.worst.items())))
    return judge.failed


with tempfile.TemporaryDirectory() as folder:
    failed = sum(check(sys.argv[1], folder, *network) for network in NETWORKS)
print("check-peer: %d networks, PyTorch %s: %s" % (len(NETWORKS), torch.__version__,
                                                   "%d differences" % failed if failed else "all agree"))
sys.exit(failed > 0)
