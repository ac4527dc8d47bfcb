"""Modules printed by `schemes --to` beside the engine (test_modules.c): the loss of a model, and its gradient, in NumPy by a
complex step in two directions, in PyTorch by its own differentiation. JAX is NumPy here, which its modules cannot tell from it.
The last lines spoil a module's weight, which must show."""
import importlib, sys, types
import numpy as np
try:
    import torch
except ImportError:
    torch = None
    print("# no PyTorch: modules for it are read by nobody", file=sys.stderr)
sys.modules["jax"] = types.ModuleType("jax")
sys.modules["jax"].numpy = sys.modules["jax.numpy"] = np
HEADS, NEAR = 2, 1e-6


def read(number):
    data = {}
    for line in open("%d.txt" % number):
        name, rows, cols, *x = line.split()
        shape = [int(n) for n in (rows, cols) if n != "0"]
        data[name] = np.array([float(v) for v in x]).reshape(shape) if shape else np.array([int(v) for v in x])
    w = {n: x[:, 0] if x.ndim == 2 and x.shape[1] == 1 and not n.endswith(".weight") else x
         for n, x in data.items() if "d/" + n in data}
    return data, w


def norm(w, name, x):
    u = x - x.mean(-1, keepdims=True)
    return u / ((u * u).mean(-1, keepdims=True) + 1e-5) ** 0.5 * w[name + ".weight"] + w[name + ".bias"]


def words(w, ids):
    D = w["embed.weight"].shape[1]
    angle = np.arange(len(ids))[:, None] * 10000.0 ** -(np.arange(D // 2) / (D / 2 - 1))
    places = np.concatenate([np.sin(angle), np.cos(angle)], 1)
    e = w["embed.weight"][ids] * D ** 0.5
    return e + (places if isinstance(e, np.ndarray) else torch.tensor(places))


def layers(w, side):
    ws = []
    while any(n.startswith("%slayers.%d." % (side, len(ws))) for n in w):
        begin = "%slayers.%d." % (side, len(ws))
        ws.append({n[len(begin):]: x for n, x in w.items() if n.startswith(begin)})
    return ws


def loss(module, encoder, data, w):
    total, pair = 0, data["source"].size > 0
    for s in range(3):
        a, b = data["start"][s:s + 2]
        y = words(w, data["input"][a:b])
        if pair:
            c, d = data["source_start"][s:s + 2]
            memory = bidirectional(encoder, layers(w, "encoder."), words(w, data["source"][c:d]))
            y = module.layers(layers(w, "decoder."), y, norm(w, "encoder.norm", memory), HEADS)
        else:
            y = module.layers(layers(w, ""), y, HEADS)
        z = norm(w, "final_norm", y) @ w["embed.weight"].swapaxes(0, 1)
        e = np.exp if isinstance(z, np.ndarray) else torch.exp
        log = np.log if isinstance(z, np.ndarray) else torch.log
        picked = z[np.arange(b - a), data["target"][a:b]]
        total = total + (log(e(z).sum(-1)) - picked).sum()
    return total / data["start"][3]


def bidirectional(encoder, ws, y):
    """An encoder's attention sees all tokens: the mask is what its module has for an arange."""
    class Seen:
        def __init__(self, x): self.x = x
        def __getattr__(self, name):
            return (lambda *n, **k: self.x.zeros(*n)) if name == "arange" else getattr(self.x, name)
    name = "np" if hasattr(encoder, "np") else "torch" if hasattr(encoder, "torch") else "jnp"
    own = getattr(encoder, name)
    setattr(encoder, name, own if isinstance(own, Seen) else Seen(own))
    return encoder.layers(ws, y, HEADS)


def near(number, what, a, b, size):
    assert abs(a - b) <= NEAR * max(1, size), (number, what, a, b)


def by_numpy(number, module, encoder, data, w):
    for k in range(2):
        r = np.random.default_rng(k)
        d = {n: r.standard_normal(x.shape) for n, x in w.items()}
        step = loss(module, encoder, data, {n: x + 1e-30j * d[n] for n, x in w.items()})
        near(number, "loss", step.real, float(data["loss"][0]), 1)
        terms = [(data["d/" + n].reshape(x.shape) * d[n]) for n, x in w.items()]
        near(number, "slope", step.imag / 1e-30, sum(t.sum() for t in terms), max(abs(t).max() for t in terms))


def by_torch(number, module, encoder, data, w):
    w = {n: torch.tensor(x, requires_grad=True) for n, x in w.items()}
    value = loss(module, encoder, data, w)
    near(number, "loss", value.item(), float(data["loss"][0]), 1)
    value.backward()
    for n, x in w.items():
        miss = abs(x.grad.numpy() - data["d/" + n].reshape(x.shape)).max()
        assert miss <= NEAR * max(1, abs(data["d/" + n]).max()), (number, n, miss)
    if data["source"].size == 0:
        own = module.Layers(8, 32, HEADS, 3)
        assert own(torch.zeros(2, 5, 8)).shape == (2, 5, 8)
        assert all(p.isfinite().all() for p in own.parameters())


many = int(sys.argv[1])
for kind, check in ("numpy", by_numpy), ("torch", by_torch), ("jax", by_numpy):
    if kind == "torch" and not torch:
        continue
    every = 10 if kind == "jax" else 1
    encoder = importlib.import_module("%s_%d" % (kind, -(-many // every) * every))
    for number in range(0, many, every):
        data, w = read(number)
        check(number, importlib.import_module("%s_%d" % (kind, number)), encoder, data, w)
data, w = read(0)
w["layers.0.attn.1.qkv.weight"] = w["layers.0.attn.1.qkv.weight"] + 1e-3
try:
    by_numpy(0, importlib.import_module("numpy_0"), None, data, w)
except AssertionError:
    sys.exit(0)
sys.exit("a spoilt weight does not show")
