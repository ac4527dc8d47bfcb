"""llama.py FOLDER LOGITS.npy [TEXT]: a Llama, Mistral, Qwen, Phi or Gemma of Hugging Face by NumPy, on the text of text.json
(tests/foreign) or on words of TEXT. Ends with 1 where a logit of LOGITS.npy is off by more than 2e-6.
llama.py FOLDER draw: draws a model of FOLDER/config.json, model.safetensors, and writes its last 16 logits to FOLDER/logits.npy.

It is written from transformers' configuration_*.py and modeling_*.py as they stand in 2026, by what they compute: rotary positions
default, Llama 3.1's and YaRN's (modeling_rope_utils.py); sliding windows, of layers by layer_types, max_window_layers or every n-th;
Phi's partial rotary positions and parallel blocks; Gemma's sqrt(D), gains 1 + w, norms behind sublayers, query_pre_attn_scalar."""
import glob
import json
import math
import os
import sys

import numpy as np
import tensors

folder, given = sys.argv[1], sys.argv[2]
c, w = json.load(open(f"{folder}/config.json")), {}
family = c["model_type"]
gemma = family.startswith("gemma")
D, H, V, L = c["hidden_size"], c["num_attention_heads"], c["vocab_size"], c["num_hidden_layers"]
K, M = c.get("num_key_value_heads", H), c["intermediate_size"]
E = c.get("head_dim") or D // H
tied = c.get("tie_word_embeddings", gemma)


def draw():
    """Matrices N(0, 0.3), gains near 1 (Gemma's w near 0), in half precision."""
    rng, p = np.random.default_rng(1), "model.layers.%d."
    shapes = {"model.embed_tokens.weight": (V, D), **({} if tied else {"lm_head.weight": (V, D)})}
    norms = {"phi": ["input_layernorm"], "gemma2": ["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
             "post_feedforward_layernorm"]}
    norms["gemma3_text"] = norms["gemma2"]
    for i in range(L):
        one = {p % i + n + ".weight": (D,) for n in norms.get(family, ["input_layernorm", "post_attention_layernorm"])}
        qkv = {"q": H, "k": K, "v": K}
        if family == "phi3":
            one |= {p % i + "self_attn.qkv_proj.weight": ((H + 2 * K) * E, D), p % i + "mlp.gate_up_proj.weight": (2 * M, D)}
        else:
            one |= {p % i + f"self_attn.{n}_proj.weight": (heads * E, D) for n, heads in qkv.items()}
        if family == "gemma3_text":
            one |= {p % i + f"self_attn.{n}_norm.weight": (E,) for n in "qk"}
        if family == "phi":
            one |= {p % i + "self_attn.dense.weight": (D, D), p % i + "mlp.fc1.weight": (M, D), p % i + "mlp.fc2.weight": (D, M)}
        else:
            one |= {p % i + "self_attn.o_proj.weight": (D, H * E), p % i + "mlp.down_proj.weight": (D, M)}
        if gemma:
            one |= {p % i + f"mlp.{n}_proj.weight": (M, D) for n in ("gate", "up")}
        shapes |= one
    shapes["model.final_layernorm.weight" if family == "phi" else "model.norm.weight"] = (D,)
    if family == "phi":
        shapes |= {name[:-6] + "bias": shape[:1] for name, shape in shapes.items() if "embed" not in name}
    drawn = {}
    for name, shape in shapes.items():
        x = rng.normal(0, 0.3, shape) + (len(shape) == 1 and name.endswith("norm.weight") and not gemma)
        drawn[name] = x.astype("<f2")
    tensors.write(f"{folder}/model.safetensors", drawn)


if given == "draw":
    draw()
for name in glob.glob(f"{folder}/*.safetensors"):
    w |= tensors.read(name)[1]

rope = c.get("rope_scaling") or {}
kind, base = rope.get("rope_type", rope.get("type", "default")), c.get("rope_theta", 1e6 if family == "gemma3_text" else 10000.0)
R = int(E * c.get("partial_rotary_factor", 0.5 if family == "phi" else 1))
inv, size = base ** (-np.arange(0, R, 2) / R), 1.0
if kind == "linear":
    inv = inv / rope["factor"]
elif kind == "llama3":
    F, old = rope["factor"], rope["original_max_position_embeddings"]
    low, high, wave = old / rope["low_freq_factor"], old / rope["high_freq_factor"], 2 * math.pi / inv
    smooth = (old / wave - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    inv = np.where(wave > low, inv / F, np.where(wave < high, inv, (1 - smooth) * inv / F + smooth * inv))
elif kind == "yarn":
    F = rope["factor"]
    old = rope.get("original_max_position_embeddings") or c["max_position_embeddings"]
    size = rope.get("attention_factor") or 0.1 * math.log(F) + 1
    dim = lambda turns: R * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(base))
    low = max(math.floor(dim(rope.get("beta_fast") or 32)), 0)
    high = min(math.ceil(dim(rope.get("beta_slow") or 1)), R - 1)
    ramp = np.clip((np.arange(R // 2) - low) / ((high if high != low else high + 0.001) - low), 0, 1)
    inv = inv / F * ramp + inv * (1 - ramp)


def window(i):
    """How many tokens attention of layer i sees; 0: all."""
    types, n = c.get("layer_types"), c.get("sliding_window") or 0
    if family in ("llama", "phi", "gemma") or (family.startswith("qwen") and not c.get("use_sliding_window")):
        return 0
    if types:
        return n if types[i] == "sliding_attention" else 0
    if family.startswith("qwen"):
        return n if i >= c.get("max_window_layers", 28) else 0
    every = {"gemma2": 2, "gemma3_text": c.get("sliding_window_pattern", 6)}.get(family)
    return 0 if every and (i + 1) % every == 0 else n


def rms(x, name):
    return (w[name + ".weight"] + gemma) * x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"])


def layer_norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return w[name + ".weight"] * x / np.sqrt((x * x).mean(-1, keepdims=True) + c["layer_norm_eps"]) + w[name + ".bias"]


def linear(x, name):
    return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)


def tanh_gelu(u):
    return u / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def turned(x, local):
    """x (n, heads, E): of the first R numbers x cos + rotate_half(x) sin."""
    by = c.get("rope_local_base_freq", 10000.0) ** (-np.arange(0, R, 2) / R) if local else inv
    angle, x, rest = np.concatenate([np.outer(np.arange(len(x)), by)] * 2, -1)[:, None], x[..., :R], x[..., R:]
    half = np.concatenate([-x[..., R // 2:], x[..., :R // 2]], -1)
    return np.concatenate([(1.0 if local else size) * (x * np.cos(angle) + half * np.sin(angle)), rest], -1)


def attention(x, i):
    p, n, apart = f"model.layers.{i}.self_attn.", len(x), np.arange(len(x))[:, None] - np.arange(len(x))
    if family == "phi3":
        q, k, v = np.split(linear(x, p + "qkv_proj"), (H * E, (H + K) * E), -1)
    else:
        q, k, v = (linear(x, f"{p}{name}_proj") for name in "qkv")
    q, k, v = (a.reshape(n, -1, E) for a in (q, k, v))
    if p + "q_norm.weight" in w:
        q, k = rms(q, p + "q_norm"), rms(k, p + "k_norm")
    local = family == "gemma3_text" and window(i) > 0
    q, k, v = turned(q, local), np.repeat(turned(k, local), H // K, 1), np.repeat(v, H // K, 1)
    scale = c.get("query_pre_attn_scalar", E) if family in ("gemma2", "gemma3_text") else E
    seen = (apart >= 0) & (apart < (window(i) or n))
    s = np.where(seen, np.einsum("ihe,jhe->hij", q, k) / math.sqrt(scale), -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    a = np.einsum("hij,jhe->ihe", s / s.sum(-1, keepdims=True), v).reshape(n, -1)
    return linear(a, p + ("dense" if family == "phi" else "o_proj"))


def network(x, i):
    p = f"model.layers.{i}.mlp."
    if family == "phi":
        return linear(tanh_gelu(linear(x, p + "fc1")), p + "fc2")
    if family == "phi3":
        gate, up = np.split(linear(x, p + "gate_up_proj"), 2, -1)
    else:
        gate, up = linear(x, p + "gate_proj"), linear(x, p + "up_proj")
    return linear((tanh_gelu(gate) if gemma else gate / (1 + np.exp(-gate))) * up, p + "down_proj")


def logits(ids):
    y = w["model.embed_tokens.weight"][ids] * (math.sqrt(D) if gemma else 1)
    for i in range(L):
        p = f"model.layers.{i}."
        if family == "phi":
            x = layer_norm(y, p + "input_layernorm")
            y = y + attention(x, i) + network(x, i)
        elif family in ("gemma2", "gemma3_text"):
            y = y + rms(attention(rms(y, p + "input_layernorm"), i), p + "post_attention_layernorm")
            y = y + rms(network(rms(y, p + "pre_feedforward_layernorm"), i), p + "post_feedforward_layernorm")
        else:
            y = y + attention(rms(y, p + "input_layernorm"), i)
            y = y + network(rms(y, p + "post_attention_layernorm"), i)
    y = layer_norm(y, "model.final_layernorm") if family == "phi" else rms(y, "model.norm")
    return linear(y, "model.embed_tokens" if tied else "lm_head")


ids = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "../foreign/text.json")))["llama"]
if len(sys.argv) > 3:
    vocab = json.load(open(f"{folder}/tokenizer.json"))["model"]["vocab"]
    ids = [vocab[word] for word in open(sys.argv[3]).read().replace("\n", " <eos> ").split()]
x, T = [c["bos_token_id"]] + ids[:-1], c["max_position_embeddings"]
mine = np.concatenate([logits(x[i:i + T]) for i in range(0, len(x), T)])
if given == "draw":
    np.save(f"{folder}/logits.npy", mine[-16:].astype(np.float32))
    sys.exit()
theirs = np.load(given).astype(float)
off = abs(mine[-len(theirs):] - theirs).max()  # the last ones are recorded
print(f"{family} {kind}: {off:.1e} of {abs(theirs).max():.2g}")
sys.exit(not off <= 2e-6)
