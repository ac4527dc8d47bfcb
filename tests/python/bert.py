"""bert.py pooler DIR: gives a BERT of Hugging Face a pooler of random numbers, as BertModel has one.
bert.py DIR TUNED CSV: what 'trotter classify --csv' says of text.txt (tests/foreign), or of its first line twice as a pair, with TUNED,
which 'trotter finetune' made of DIR in steps of next to nothing: BERT by NumPy (Devlin et al. 2019), tokens as text.json has them; weights
are DIR's, but for the last matrix. Ends with 1 where a probability is off by more than 2e-6."""
import json
import math
import os
import sys

import numpy as np
import tensors


if sys.argv[1] == "pooler":
    file, draw = sys.argv[2] + "/model.safetensors", np.random.default_rng(1)
    w = tensors.read(file)[1]
    w["bert.pooler.dense.weight"], w["bert.pooler.dense.bias"] = draw.normal(size=(16, 16)), draw.normal(size=16)
    tensors.write(file, {key: x.astype("<f4") for key, x in w.items()})
    sys.exit()

folder, tuned, table = sys.argv[1:]
c, (_, w) = json.load(open(f"{folder}/config.json")), tensors.read(f"{folder}/model.safetensors")
told, t = tensors.read(f"{tuned}/model.safetensors")
w = {key.removeprefix("bert."): x for key, x in w.items()}
H = c["num_attention_heads"]


def linear(x, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + c["layer_norm_eps"]) * w[name + ".weight"] + w[name + ".bias"]


def soft(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def probabilities(ids, kinds):
    e = "embeddings."
    y = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)] + w[e + "token_type_embeddings.weight"][kinds]
    y = norm(y, e + "LayerNorm")
    for i in range(c["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        q, k, v = (linear(y, f"{p}attention.self.{n}").reshape(len(ids), H, -1) for n in ("query", "key", "value"))
        a = soft(np.einsum("ihe,jhe->hij", q, k) / math.sqrt(q.shape[-1]))
        a = np.einsum("hij,jhe->ihe", a, v).reshape(len(ids), -1)
        y = norm(y + linear(a, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        u = linear(y, p + "intermediate.dense")
        u = u / 2 * (1 + np.vectorize(math.erf)(u / math.sqrt(2)))
        y = norm(y + linear(u, p + "output.dense"), p + "output.LayerNorm")
    return soft(np.tanh(linear(y[0], "pooler.dense")) @ t["classes.weight"].T + t["classes.bias"])


lines = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "../foreign/text.json")))["bert"]  # [CLS] is 2, [SEP] 3
asked = [[([2] + x + [3], [0] * (len(x) + 2)) for x in lines],
         [([2] + lines[0] + [3] + lines[0] + [3], [0] * (len(lines[0]) + 2) + [1] * (len(lines[0]) + 1))]]
off, names = 0, told["labels"].split("\t")
rows = [row.split(",") for row in open(table).read().split("\n")[1:-1]]
for row, (ids, kinds) in zip(rows, asked[len(rows) == 1], strict=True):
    off = max(off, abs(probabilities(ids, kinds)[names.index(row[1])] - float(row[2])))
print(f"{off:.1e}")
sys.exit(not off <= 2e-6)
