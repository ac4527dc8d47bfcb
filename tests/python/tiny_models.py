#!/usr/bin/env python3
"""tiny_models.py DIR: writes tiny models of random weights as Hugging Face's `transformers` does, with their logits.

Each of DIR/gpt2, DIR/llama and DIR/bert gets config.json, model.safetensors, tokenizer.json, a text, and logits.npy:
the logits (16, V), in float64 by the formulas of the papers, of the last 16 tokens of the text after those before them
(bert: of each token with all others). Only NumPy is used, and nothing of this program. tests/foreign/ holds what
`tests/python/tiny_models.py tests/foreign` wrote; tests/commands/test_foreign.c compares the program with it.

Source: Radford et al. 2019 (GPT-2: pre-norm, learned positions, GELU by tanh, tied output, matrices (in, out)); Touvron
et al. 2023 (Llama: RMS norm, rotary positions, SwiGLU, no biases), with shared keys (Ainslie et al. 2023);
Devlin et al. 2019 (BERT: norms behind sublayers and behind the input, GELU by erf, a dense layer before the words).
"""
import json
import os
import struct
import sys

import numpy as np

TEXT = "In the beginning God created the heaven and the earth.\nIt isn't 1984, naïve \U0001f600  friend!\n"


def safetensors(path, tensors, dtype):
    """Writes tensors as F16, BF16 or F32, and returns them in float64 as a reader gets them."""
    header, data, read = {}, b"", {}
    for name, x in tensors.items():
        f32 = np.asarray(x, np.float32)
        if dtype == "BF16":  # cut the lower half of each f32
            raw = (f32.view(np.uint32) >> 16).astype(np.uint16)
            read[name] = (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        else:
            raw = f32.astype({"F16": np.float16, "F32": np.float32}[dtype])
            read[name] = raw.astype(np.float64)
        header[name] = {"dtype": dtype, "shape": list(f32.shape), "data_offsets": [len(data), len(data) + raw.nbytes]}
        data += raw.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return read


def merges_of(words, count):
    """Learns byte-pair merges from lists of symbols, the most frequent pair first."""
    merges = []
    for _ in range(count):
        pairs = {}
        for w in words:
            for pair in zip(w, w[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        for w in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == best:
                    w[i : i + 2] = [w[i] + w[i + 1]]
                i += 1
    return merges


def norm(x, w, b, eps):
    m = x.mean(-1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + eps) * w + b


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, heads, causal):
    """q (T, H E), k and v (T, K E), H a multiple of K: head h reads key head h K // H."""
    T, E = len(q), q.shape[1] // heads
    kv = k.shape[1] // E
    out = np.empty_like(q)
    for h in range(heads):
        a, g = slice(h * E, h * E + E), slice(h * kv // heads * E, h * kv // heads * E + E)
        s = q[:, a] @ k[:, g].T / np.sqrt(E)
        if causal:
            s = np.where(np.tril(np.ones((T, T))) > 0, s, -np.inf)
        out[:, a] = softmax(s) @ v[:, g]
    return out


def by_blocks(forward, ids, first, T):
    """Logits of ids, each after those before it in its block of T; the text begins with `first`."""
    x = [first] + ids[:-1]
    return np.concatenate([forward(x[i : i + T]) for i in range(0, len(x), T)])


# ---- byte-level BPE, by the words of a simple split (the test texts agree with GPT-2's pattern on it) ----


def byte_characters():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(other)}}


def byte_level(special, split):
    to = byte_characters()
    words = [[to[b] for b in (" " + w).encode()] for w in TEXT.split()]
    merges = merges_of(words, 40)
    vocab = {c: i for i, c in enumerate(to.values())}
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    vocab[special] = len(vocab)
    added = {"id": vocab[special], "content": special, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                      "merges": [" ".join(m) for m in merges]}}


def bpe(symbols, rank):
    s = list(symbols)
    while True:
        found = [(rank[p], i) for i, p in enumerate(zip(s, s[1:])) if p in rank]
        if not found:
            return s
        i = min(found)[1]
        s[i : i + 2] = [s[i] + s[i + 1]]


def gpt2_words(text):
    """GPT-2's pattern for the texts here, by Python's `re`, where [^\\W\\d_] is a letter."""
    import re

    letters, other = r"[^\W\d_]+", r"(?:[^\s\w]|_)+"
    return re.findall(rf"'s|'t|'re|'ve|'m|'ll|'d| ?{letters}| ?\d+| ?{other}|\s+(?!\S)|\s+", text)


def byte_ids(tokenizer, text):
    to, vocab = byte_characters(), tokenizer["model"]["vocab"]
    rank = {tuple(m.split(" ")): i for i, m in enumerate(tokenizer["model"]["merges"])}
    return [vocab[t] for w in gpt2_words(text) for t in bpe([to[b] for b in w.encode()], rank)]


# ---- GPT-2 ----


def gpt2(rng):
    D, L, H, P = 16, 2, 4, 24
    tok = byte_level("<|endoftext|>", None)
    V = len(tok["model"]["vocab"]) + 3  # embeddings are often padded
    n = lambda *s: rng.normal(0, 0.3, s)
    w = {"transformer.wte.weight": n(V, D), "transformer.wpe.weight": n(P, D)}
    for l in range(L):
        p = f"transformer.h.{l}."
        w.update({p + "ln_1.weight": 1 + n(D), p + "ln_1.bias": n(D), p + "attn.c_attn.weight": n(D, 3 * D),
                  p + "attn.c_attn.bias": n(3 * D), p + "attn.c_proj.weight": n(D, D), p + "attn.c_proj.bias": n(D),
                  p + "ln_2.weight": 1 + n(D), p + "ln_2.bias": n(D), p + "mlp.c_fc.weight": n(D, 4 * D),
                  p + "mlp.c_fc.bias": n(4 * D), p + "mlp.c_proj.weight": n(4 * D, D), p + "mlp.c_proj.bias": n(D)})
    w.update({"transformer.ln_f.weight": 1 + n(D), "transformer.ln_f.bias": n(D)})
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": D, "n_layer": L, "n_head": H,
              "n_positions": P, "n_inner": None, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
              "vocab_size": V, "bos_token_id": V - 4, "eos_token_id": V - 4}

    def forward(w, ids):
        g = lambda k: w["transformer." + k]
        gelu = lambda u: u / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
        y = g("wte.weight")[ids] + g("wpe.weight")[: len(ids)]
        for l in range(L):
            p = f"h.{l}."
            x = norm(y, g(p + "ln_1.weight"), g(p + "ln_1.bias"), 1e-5)
            q, k, v = np.split(x @ g(p + "attn.c_attn.weight") + g(p + "attn.c_attn.bias"), 3, axis=1)
            y = y + attend(q, k, v, H, True) @ g(p + "attn.c_proj.weight") + g(p + "attn.c_proj.bias")
            x = norm(y, g(p + "ln_2.weight"), g(p + "ln_2.bias"), 1e-5)
            u = gelu(x @ g(p + "mlp.c_fc.weight") + g(p + "mlp.c_fc.bias"))
            y = y + u @ g(p + "mlp.c_proj.weight") + g(p + "mlp.c_proj.bias")
        return norm(y, g("ln_f.weight"), g("ln_f.bias"), 1e-5) @ g("wte.weight").T

    return config, tok, w, "F16", lambda w: by_blocks(lambda x: forward(w, x), byte_ids(tok, TEXT), V - 4, P)


# ---- Llama ----

SPACE = "\u2581"


def metaspace():
    words = [list(SPACE + w) for w in TEXT.split()]
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"<0x{b:02X}>": 3 + b for b in range(256)}}
    for c in sorted({c for w in words for c in w if c.isascii() or c == SPACE}):
        vocab[c] = len(vocab)
    merges = [m for m in merges_of(words, 40) if all(c in vocab for c in "".join(m))]
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    added = [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, c in enumerate(("<unk>", "<s>", "</s>"))]
    normal = [{"type": "Prepend", "prepend": SPACE}, {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]
    back = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": normal}, "pre_tokenizer": None, "post_processor": None,
            "decoder": {"type": "Sequence", "decoders": back},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                      "merges": [list(m) for m in merges]}}


def metaspace_ids(tokenizer, text):
    vocab = tokenizer["model"]["vocab"]
    rank = {tuple(m): i for i, m in enumerate(tokenizer["model"]["merges"])}
    return [i for t in bpe(SPACE + text.replace(" ", SPACE), rank)
            for i in ([vocab[t]] if t in vocab else [vocab[f"<0x{b:02X}>"] for b in t.encode()])]


def llama(rng):
    D, L, H, K, M = 16, 2, 4, 2, 24
    tok = metaspace()
    V = len(tok["model"]["vocab"])
    n = lambda *s: rng.normal(0, 0.3, s)
    w = {"model.embed_tokens.weight": n(V, D), "model.norm.weight": 1 + n(D), "lm_head.weight": n(V, D)}
    for l in range(L):
        p = f"model.layers.{l}."
        w.update({p + "self_attn.q_proj.weight": n(D, D), p + "self_attn.k_proj.weight": n(D // H * K, D),
                  p + "self_attn.v_proj.weight": n(D // H * K, D), p + "self_attn.o_proj.weight": n(D, D),
                  p + "self_attn.q_proj.bias": n(D), p + "self_attn.k_proj.bias": n(D // H * K),
                  p + "self_attn.v_proj.bias": n(D // H * K), p + "self_attn.o_proj.bias": n(D),
              p + "self_attn.q_proj.bias": n(D), p + "self_attn.k_proj.bias": n(D // H * K),
              p + "self_attn.v_proj.bias": n(D // H * K), p + "self_attn.o_proj.bias": n(D),
                  p + "mlp.gate_proj.weight": n(M, D), p + "mlp.up_proj.weight": n(M, D),
                  p + "mlp.down_proj.weight": n(D, M), p + "input_layernorm.weight": 1 + n(D),
                  p + "post_attention_layernorm.weight": 1 + n(D)})
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": D, "num_hidden_layers": L,
              "num_attention_heads": H, "num_key_value_heads": K, "intermediate_size": M, "hidden_act": "silu",
              "max_position_embeddings": 20, "rms_norm_eps": 1e-4, "tie_word_embeddings": False, "vocab_size": V, "attention_bias": True,
              "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}, "bos_token_id": 1, "eos_token_id": 2}

    def rms(x, g):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-4) * g

    def turn(x):
        """Rotary positions: numbers e and e + E/2 of each head are a point that turns by i 500^(-2 e / E)."""
        E = D // H
        x = x.reshape(len(x), -1, E)
        t = (np.arange(len(x))[:, None] * 500.0 ** (-2 * np.arange(E // 2) / E))[:, None]
        a, b = x[..., : E // 2], x[..., E // 2 :]
        return np.concatenate([a * np.cos(t) - b * np.sin(t), b * np.cos(t) + a * np.sin(t)], -1).reshape(len(x), -1)

    def forward(w, ids):
        y = w["model.embed_tokens.weight"][ids]
        for l in range(L):
            g = lambda k: w[f"model.layers.{l}.{k}.weight"]
            x = rms(y, g("input_layernorm"))
            b = lambda c: w[f"model.layers.{l}.self_attn.{c}_proj.bias"]
            q, k, v = (x @ g(f"self_attn.{c}_proj").T + b(c) for c in "qkv")
            y = y + attend(turn(q), turn(k), v, H, True) @ g("self_attn.o_proj").T + b("o")
            x = rms(y, g("post_attention_layernorm"))
            z = x @ g("mlp.gate_proj").T
            y = y + (z / (1 + np.exp(-z)) * (x @ g("mlp.up_proj").T)) @ g("mlp.down_proj").T
        return rms(y, w["model.norm.weight"]) @ w["lm_head.weight"].T

    return config, tok, w, "BF16", lambda w: by_blocks(lambda x: forward(w, x), metaspace_ids(tok, TEXT), 1, 20)


# ---- BERT ----


def wordpiece():
    """Words, some cut in two, and letters; the text has no accents and is in small letters once it is normalised."""
    vocab = {c: i for i, c in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    words = sorted({w.strip(".'").lower() for w in TEXT.split() if w.isascii()})
    for i, w in enumerate(words):
        for piece in [w] if i % 2 or len(w) < 4 else [w[:3], "##" + w[3:]]:
            vocab.setdefault(piece, len(vocab))
    for c in "abcdefghijklmnopqrstuvwxyz0123456789.,'!":
        vocab.setdefault(c, len(vocab))
        vocab.setdefault("##" + c, len(vocab))
    added = [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for c, i in list(vocab.items())[:5]]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": vocab}}


def wordpiece_ids(vocab, line):
    import re
    import unicodedata

    small = "".join(c for c in unicodedata.normalize("NFD", line) if unicodedata.category(c) != "Mn").lower()
    ids = []
    for word in re.findall(r"\w+|[^\w\s]", small):
        at, cut = 0, []
        while at < len(word):
            ends = [e for e in range(len(word), at, -1) if "##" * (at > 0) + word[at:e] in vocab]
            if not ends:
                cut = [vocab["[UNK]"]]
                break
            cut.append(vocab["##" * (at > 0) + word[at : ends[0]]])
            at = ends[0]
        ids += cut
    return ids


def bert(rng):
    D, L, H, M, P = 16, 2, 4, 32, 32
    tok = wordpiece()
    vocab = tok["model"]["vocab"]
    V = len(vocab)
    n = lambda *s: rng.normal(0, 0.3, s)
    e, c = "bert.embeddings.", "cls.predictions."
    w = {e + "word_embeddings.weight": n(V, D), e + "position_embeddings.weight": n(P, D),
         e + "token_type_embeddings.weight": n(2, D), e + "LayerNorm.weight": 1 + n(D), e + "LayerNorm.bias": n(D),
         c + "transform.dense.weight": n(D, D), c + "transform.dense.bias": n(D), c + "bias": n(V),
         c + "transform.LayerNorm.gamma": 1 + n(D), c + "transform.LayerNorm.beta": n(D)}
    for l in range(L):
        p = f"bert.encoder.layer.{l}."
        for name, o, i in (("attention.self.query", D, D), ("attention.self.key", D, D), ("attention.self.value", D, D),
                           ("attention.output.dense", D, D), ("intermediate.dense", M, D), ("output.dense", D, M)):
            w.update({p + name + ".weight": n(o, i), p + name + ".bias": n(o)})
        for name in "attention.output.LayerNorm", "output.LayerNorm":
            w.update({p + name + ".weight": 1 + n(D), p + name + ".bias": n(D)})
    config = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": D, "num_hidden_layers": L,
              "num_attention_heads": H, "intermediate_size": M, "hidden_act": "gelu", "max_position_embeddings": P,
              "type_vocab_size": 2, "layer_norm_eps": 1e-12, "vocab_size": V, "pad_token_id": 0}

    def forward(w, ids):
        import math

        gelu = lambda u: u / 2 * (1 + np.vectorize(math.erf)(u / np.sqrt(2)))
        line = lambda p, x: x @ w[p + ".weight"].T + w[p + ".bias"]
        ln = lambda p, x: norm(x, w[p + ".weight"], w[p + ".bias"], 1e-12)
        y = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)]
        y = ln(e + "LayerNorm", y + w[e + "token_type_embeddings.weight"][0])
        for l in range(L):
            p = f"bert.encoder.layer.{l}."
            q, k, v = (line(p + "attention.self." + a, y) for a in ("query", "key", "value"))
            y = ln(p + "attention.output.LayerNorm", y + line(p + "attention.output.dense", attend(q, k, v, H, False)))
            y = ln(p + "output.LayerNorm", y + line(p + "output.dense", gelu(line(p + "intermediate.dense", y))))
        h = norm(gelu(line(c + "transform.dense", y)), w[c + "transform.LayerNorm.gamma"],
                 w[c + "transform.LayerNorm.beta"], 1e-12)
        return h @ w[e + "word_embeddings.weight"].T + w[c + "bias"]

    def logits(w):
        """Of each token, masked alone in [CLS] line [SEP]."""
        rows = []
        for line in TEXT.splitlines():
            ids = [vocab["[CLS]"]] + wordpiece_ids(vocab, line) + [vocab["[SEP]"]]
            for i in range(1, len(ids) - 1):
                rows.append(forward(w, ids[:i] + [vocab["[MASK]"]] + ids[i + 1 :])[i])
        return np.array(rows)

    return config, tok, w, "F32", logits


def main(out):
    for seed, (name, make) in enumerate({"gpt2": gpt2, "llama": llama, "bert": bert}.items()):
        config, tokenizer, weights, dtype, logits = make(np.random.default_rng(seed))
        os.makedirs(os.path.join(out, name), exist_ok=True)
        at = lambda file: os.path.join(out, name, file)
        for file, content in ("config.json", config), ("tokenizer.json", tokenizer):
            with open(at(file), "w", encoding="utf-8") as f:
                json.dump(content, f, ensure_ascii=False)
                f.write("\n")
        read = safetensors(at("model.safetensors"), weights, dtype)
        np.save(at("logits.npy"), logits(read)[-16:].astype(np.float32))
        with open(at("text.txt"), "w", encoding="utf-8") as f:
            f.write(TEXT)


if __name__ == "__main__":
    main(sys.argv[1])
