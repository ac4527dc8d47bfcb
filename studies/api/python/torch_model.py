"""A language model of any scheme as a PyTorch module: python3 torch_model.py DIRECTORY ID ID ... prints its logits.

    from torch_model import Model
    model = Model("out/rk4")                 # of model.safetensors, in float64
    model(torch.tensor([[0, 5, 17]]))        # logits (1, 3, V); parameters have gradients

The formulas are those of nn/format.md; schemes that read earlier layers and norm post are read too. Dropout is left out."""
import math, re, sys
import torch
from torch import nn
from torch.nn.functional import gelu, layer_norm, linear, silu
from read_model import PLAIN, embedded, load, ordered, statements, turns, window

class Layer(nn.Module):
    """One step of a scheme: statements of its text, and the tensors of layer l."""

    def __init__(self, told, w, l):
        super().__init__()
        self.told, self.l, p = told, l, "layers.%d." % l
        self.w = nn.ParameterDict({k[len(p):].replace(".", "/"): nn.Parameter(torch.tensor(x)) for k, x in w.items() if k.startswith(p)})
        text = re.sub(r"(\w+) *\* *(\w+)\[all\]", r"\2_all", statements(told, ""))  # y[-1], k1[-2], k1[all] become names
        text = re.sub(r"\[first\]", "_first", re.sub(r"\[-(\d+)\]", r"_\1", text))
        self.weight = dict((b, a) for a, b in re.findall(r"(\w+) *\* *(\w+)\[all\]", statements(told, "")))
        self.lines = list(ordered(re.findall(r"^(?:(let|learn|gate|carry) +)?([\w']+) *= *([^#@\n]*)", text, re.M)))
        self.norms = {"norm%d" % s: lambda x, s=s: self.norm("norm.%d" % s, x) for s in range(1, 257)}
        self.carries = [name for kind, name, _ in self.lines if kind == "carry"]
        self.past = max([0, *map(int, re.findall(r"\b[yk]\d*_(\d+)", text))])

    def get(self, name):
        return self.w[name.replace(".", "/")] if name.replace(".", "/") in self.w else None

    def linear(self, p, x):
        return linear(x, self.get(p + ".weight"), self.get(p + ".bias"))

    def norm(self, p, x):
        return norm(self.told, self.get(p + ".weight"), self.get(p + ".bias"), x)

    def inside(self, p, y):
        return y if self.told["norm"] == "post" else self.norm(p + ".norm", y)

    def F(self, p, y):
        T, H, c = y.shape[-2], int(self.told["heads"]), int(self.told["relative_clip"])
        K, seen = int(self.told.get("kv-heads", H)), window(self.told, "layers.%d" % self.l)
        x = self.linear(p + ".qkv", self.inside(p, y)).unflatten(-1, (H + 2 * K, -1)).transpose(-2, -3)
        q, k, v = (x.repeat_interleave(H // x.shape[-3], -3) for x in x.split([H, K, K], -3))
        if self.told.get("head-norm") == "yes":
            q, k = self.norm(p + ".q_norm", q), self.norm(p + ".k_norm", k)
        if self.told["positions"] == "rotary":
            q, k = self.turn(q, seen), self.turn(k, seen)
        s, apart = q @ k.transpose(-1, -2), torch.arange(T) - torch.arange(T)[:, None]
        if self.get(p + ".relative.weight") is not None:
            s = s + torch.einsum("...hie,ije->...hij", q, self.get(p + ".relative.weight")[apart.clamp(-c, c) + c])
        a = (s / math.sqrt(q.shape[-1])).masked_fill((apart > 0) | (-apart >= (seen or T)), -math.inf).softmax(-1)
        return self.behind(p, self.linear(p + ".out", (a @ v).transpose(-2, -3).flatten(-2)))

    def behind(self, p, x):
        kind, s = p.split(".")
        return self.norm("norm.%d" % (2 * int(s) - (kind == "attn")), x) if self.told.get("output-norm") == "yes" else x

    def turn(self, x, seen):
        half = x.shape[-1] // 2
        w, size = turns(self.told, 2 * half, seen)
        t = torch.arange(x.shape[-2])[:, None] * torch.tensor(w).to(x)
        a, b = (size * x).chunk(2, -1)
        return torch.cat([a * t.cos() - b * t.sin(), b * t.cos() + a * t.sin()], -1)

    def G(self, p, y):
        gated = {"swiglu": silu, "geglu": lambda u: activate(self.told, u)}.get(self.told["activation"])
        u = self.linear(p + (".gate_up" if gated else ".up"), self.inside(p, y))
        if gated:
            gate, up = u.chunk(2, -1)
            return self.behind(p, self.linear(p + ".down", gated(gate) * up))
        relu = self.told["activation"] == "relu" or (self.told.get("first-relu") == "yes" and p.endswith(".1"))
        return self.behind(p, self.linear(p + ".down", u.relu() if relu else activate(self.told, u)))

    def slope(self, call, x):
        """What each sublayer makes of x, by its name: F2 and G2 of H2, G alone of G."""
        op, s = re.fullmatch(r"([FGHL])(\d*)", call).groups()
        f, g = lambda x: self.F("attn." + (s or "1"), x), lambda x: self.G("ffn." + (s or "1"), x)
        if op in "FG":
            return {op: f(x) if op == "F" else g(x)}
        k = f(x)
        return {"F": k, "G": g(x + k if op == "L" else x)}

    def value(self, text, names):
        if not re.fullmatch(PLAIN, text):
            raise ValueError("not read here: " + text)
        return eval(text.replace("^", "**"), {"__builtins__": {}, "sqrt": math.sqrt, **self.norms}, names)

    def forward(self, states, slopes, begun):
        """y' of states [y of layer 0, ..., y]; slopes: of each layer before, by name, with what is carried. Adds this layer's.
        begun: what is carried and begins by an embedding."""
        y, early = states[-1], self.l < self.past
        now, start, parts, z = {}, {}, {}, y
        for j in range(1, self.past + 1):
            now["y_%d" % j] = states[-1 - j] if j <= self.l else y
            for k in {name for _, name, _ in self.lines if re.fullmatch(r"k\d+", name)}:
                now["%s_%d" % (k, j)] = slopes[-j][k] if j <= self.l else 0
        now.update(y=y, y_first=states[0])
        for kind, name, text in self.lines:
            call = re.fullmatch(r"([FGHL]\d*)\((.*)\) *", text)
            if kind == "learn":
                start[name], w = self.value(text, {}), self.get("scheme." + name)  # a layer has those that it reads
                now[name] = start[name] if w is None else w
            elif kind == "gate" and self.get("scheme.%s.weight" % name) is None:
                now[name] = start[name] = 0
            elif kind == "gate":
                act, *of = re.findall(r"\w+", text)
                now[name] = getattr(torch, act)(self.linear("scheme." + name, torch.cat([now[k] for k in of], -1)))
                start[name] = 0.5 if act == "sigmoid" else 0
            elif kind == "carry":
                now[name] = slopes[-1][name] if slopes else begun[name] if name in begun else self.value(text, now)
            elif call and self.told["norm"] == "post":
                p = {"F": "attn.", "G": "ffn."}[call[1][0]] + (call[1][1:] or "1")
                now[name] = self.slope(call[1], z)[call[1][0]]
                z = self.norm(p + ".norm", z + self.coefficient(name, now) * now[name])
            elif call:
                parts[name] = self.slope(call[1], self.value(call[2], now))
                now[name] = sum(parts[name].values())
                now.update({"%s_%d" % (name, j): now[name] for j in range(self.l + 1, self.past + 1)})
            elif name != "y'":
                now[name] = self.value(text, now)
        slopes.append({k: x for k, x in now.items() if re.fullmatch(r"k\d+", k)} | {v: now[v + "'"] for v in self.carries})
        for k, w in ((k, w) for k, w in self.weight.items()):
            now[k + "_all"] = sum(c * s[k] for c, s in zip(now[w], slopes))
        if self.told["norm"] == "post":
            return z
        return self.begin(now, {**now, **start}, parts) if early else self.value(self.lines[-1][2], now)

    def coefficient(self, k, now):
        """Of slope k in y', which is linear in it: its value where k is 1 and all other states are 0."""
        states = re.findall(r"\b(?:y|k\d+)(?:_\w+)?\b", self.lines[-1][2])
        return self.value(self.lines[-1][2], {**now, **dict.fromkeys(states, 0), k: 1})

    def begin(self, now, start, parts):
        """y' of a layer that has too few before it: y + the sum over sublayers of S / W."""
        y = now["y"]
        for op in "FG":
            S = W = 0
            for k in parts:
                for name in [k] + ["%s_%d" % (k, j) for j in range(1, self.past + 1)]:
                    if op in parts[k] and re.search(r"\b%s\b" % name, self.lines[-1][2]):
                        S, W = S + self.coefficient(name, now) * parts[k][op], W + self.coefficient(name, start)
            y = y + S / W if W else y
        return y

def norm(told, w, b, x):
    eps = float(told.get("norm-eps", 1e-5))
    if b is None:
        return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * w
    return layer_norm(x, x.shape[-1:], w, b, eps)

def activate(told, u):
    return gelu(u, approximate="none" if told.get("gelu") == "erf" else "tanh")

class Model(nn.Module):
    def __init__(self, directory):
        super().__init__()
        self.told, w = load(directory + "/model.safetensors")
        if self.told["format"] != "trotter language model 1" or any(re.match(r"embed\.(?!weight)", k) for k in w):
            raise ValueError(directory + ": language models without clusters of words are read here")
        self.layers = nn.ModuleList(Layer(self.told, w, l) for l in range(int(self.told["layers"])))
        self.w = nn.ParameterDict({k.replace(".", "/"): nn.Parameter(torch.tensor(x)) for k, x in w.items() if not k.startswith("layers.")})

    def embed(self, ids, of=""):
        D, T, y = int(self.told["width"]), ids.shape[-1], self.w[of + "embed/weight"][ids]
        y = y if self.told.get("plain-input") == "yes" else math.sqrt(D) * y
        angle = torch.arange(T)[:, None] * 10000.0 ** -(torch.arange(D // 2) / max(D // 2 - 1, 1)).to(y)
        if self.told["positions"] in ("sinusoid", "both"):
            y = y + torch.cat([angle.sin(), angle.cos()], -1)
        return y + self.w[of + "position/weight"][:T] if self.told["positions"] == "learned" else y

    def forward(self, ids):
        states, slopes = [self.embed(ids)], []
        begun = {name: self.embed(ids, of.replace(".", "/")) for name, of in embedded(self.told).items()}
        for layer in self.layers:
            states.append(layer(states, slopes, begun))
        h = states[-1]
        if "final_norm/weight" in self.w:
            h = norm(self.told, self.w["final_norm/weight"], self.w["final_norm/bias"] if "final_norm/bias" in self.w else None, h)
        z = h @ self.w["output/weight" if "output/weight" in self.w else "embed/weight"].T
        return z + self.w["output/bias"] if "output/bias" in self.w else z

if __name__ == "__main__":
    with torch.no_grad():
        for row in Model(sys.argv[1])(torch.tensor([list(map(int, sys.argv[2:]))]))[0]:
            print(*("%.9g" % x for x in row))
