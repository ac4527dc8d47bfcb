"""llama.py FOLDER LOGITS.npy [TEXT]: a Llama, Mistral or Qwen of Hugging Face by NumPy, on the text of text.json (tests/foreign) or on
words of TEXT, with the rotary positions of its config.json: default, Llama 3.1's and YaRN's as transformers' modeling_rope_utils.py has
them. Ends with 1 where a logit of LOGITS.npy is off by more than 2e-6."""
import glob
import json
import math
import os
import struct
import sys

import numpy as np

folder, theirs = sys.argv[1], np.load(sys.argv[2]).astype(float)
c, w = json.load(open(f"{folder}/config.json")), {}
for name in glob.glob(f"{folder}/*.safetensors"):
    data = open(name, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    for key, t in json.loads(data[8:start]).items():
        if key != "__metadata__":
            a, b = (start + i for i in t["data_offsets"])
            x = np.frombuffer(data[a:b], {"BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8"}[t["dtype"]])
            x = (x.astype("<u4") << 16).view("<f4") if t["dtype"] == "BF16" else x
            w[key] = x.astype(float).reshape(t["shape"])
H, K = c["num_attention_heads"], c["num_key_value_heads"]
E = c.get("head_dim") or c["hidden_size"] // H
rope = c.get("rope_scaling") or {}
kind, base = rope.get("rope_type", rope.get("type", "default")), c.get("rope_theta", 10000.0)
inv, size = base ** (-np.arange(0, E, 2) / E), 1.0
if kind == "llama3":
    F, L = rope["factor"], rope["original_max_position_embeddings"]
    low, high, wave = L / rope["low_freq_factor"], L / rope["high_freq_factor"], 2 * math.pi / inv
    smooth = (L / wave - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    inv = np.where(wave > low, inv / F, np.where(wave < high, inv, (1 - smooth) * inv / F + smooth * inv))
elif kind == "yarn":
    F = rope["factor"]
    L = rope.get("original_max_position_embeddings") or c["max_position_embeddings"]
    size = rope.get("attention_factor") or 0.1 * math.log(F) + 1
    dim = lambda turns: E * math.log(L / (turns * 2 * math.pi)) / (2 * math.log(base))
    low = max(math.floor(dim(rope.get("beta_fast") or 32)), 0)
    high = min(math.ceil(dim(rope.get("beta_slow") or 1)), E - 1)
    ramp = np.clip((np.arange(E // 2) - low) / ((high if high != low else high + 0.001) - low), 0, 1)
    inv = inv / F * ramp + inv * (1 - ramp)


def rms(x, name):
    return w[name + ".weight"] * x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"])


def linear(x, name):
    return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)


def turned(x):
    """x (n, heads, E): x cos + rotate_half(x) sin."""
    angle = np.concatenate([np.outer(np.arange(len(x)), inv)] * 2, -1)[:, None]
    half = np.concatenate([-x[..., E // 2:], x[..., :E // 2]], -1)
    return size * (x * np.cos(angle) + half * np.sin(angle))


def logits(ids):
    y = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        x = rms(y, p + "input_layernorm")
        q, k, v = (linear(x, f"{p}self_attn.{n}_proj").reshape(len(x), -1, E) for n in "qkv")
        if p + "self_attn.q_norm.weight" in w:
            q, k = rms(q, p + "self_attn.q_norm"), rms(k, p + "self_attn.k_norm")
        q, k, v = turned(q), np.repeat(turned(k), H // K, 1), np.repeat(v, H // K, 1)
        s = np.einsum("ihe,jhe->hij", q, k) / math.sqrt(E) + np.triu(np.full((len(x), len(x)), -np.inf), 1)
        s = np.exp(s - s.max(-1, keepdims=True))
        a = np.einsum("hij,jhe->ihe", s / s.sum(-1, keepdims=True), v).reshape(len(x), -1)
        y = y + linear(a, p + "self_attn.o_proj")
        x = rms(y, p + "post_attention_layernorm")
        gate = linear(x, p + "mlp.gate_proj")
        y = y + linear(gate / (1 + np.exp(-gate)) * linear(x, p + "mlp.up_proj"), p + "mlp.down_proj")
    return linear(rms(y, "model.norm"), "model.embed_tokens" if c.get("tie_word_embeddings") else "lm_head")


ids = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "../foreign/text.json")))["llama"]
if len(sys.argv) > 3:
    vocab = json.load(open(f"{folder}/tokenizer.json"))["model"]["vocab"]
    ids = [vocab[word] for word in open(sys.argv[3]).read().replace("\n", " <eos> ").split()]
x, T = [c["bos_token_id"]] + ids[:-1], c["max_position_embeddings"]
mine = np.concatenate([logits(x[i:i + T]) for i in range(0, len(x), T)])
off = abs(mine[-len(theirs):] - theirs).max()  # the last ones are recorded
print(f"{kind}: {off:.1e}")
sys.exit(not off <= 2e-6)
