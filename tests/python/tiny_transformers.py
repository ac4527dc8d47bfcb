#!/usr/bin/env python3
"""tiny_transformers.py OUT [EXPORTED...]: tiny models of random weights by the library `transformers`, and their logits.

    python3 tests/python/tiny_transformers.py OUT            # needs torch, transformers; no network, some seconds
    TROTTER_FOREIGN=OUT build/release/tests/commands/test_foreign        # where trotter is: compares it with them

OUT/TYPE gets what the library saves of a model with the settings of tests/foreign/TYPE/config.json, and logits.npy: the
logits (16, V) of the last 16 tokens of tests/foreign/text.txt after those before them (bert: of each masked alone in its
line). With the package `tokenizers` OUT/ids.json gets its tokens of the texts of tests/foreign/ids.json; without it the
tokens of text.txt are those of text.json. EXPORTED: directories of `trotter export`; logits of ids 1 .. 8 are printed.

Some models compute norms, softmax and angles in float32 whatever they are asked for. To have all of it in float64, the
library finds float64 under the name of float32 once the files are saved.

tests/foreign holds what this script wrote with transformers 4.48.0.dev0 (commit 3e2769a3c of 2024-12-10) on PyTorch 1.13,
processor, without `tokenizers`; safetensors was read and written by a stand-in of its format. Qwen 3 is younger: qwen3 is from
the classes Qwen3RMSNorm to Qwen3DecoderLayer of modeling_qwen3.py as they stand in commit 000c33fd of transformers (2026), in
float64 on that PyTorch, between an embedding and a last norm of ten lines; tests/python/llama.py gives the same logits."""
import json, os, sys
import numpy as np, torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedTokenizerFast
from transformers.utils import is_tokenizers_available

out, exported = sys.argv[1], sys.argv[2:]
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "foreign")
recorded, parts = (json.load(open(os.path.join(here, x), encoding="utf-8")) for x in ("ids.json", "text.json"))
text = open(os.path.join(here, "text.txt"), encoding="utf-8").read()
TOKENS = {"gpt2": "gpt2", "llama": "llama", "mistral": "llama", "qwen2": "llama", "qwen3": "llama", "bert": "bert"}  # whose tokenizer.json


def build(config, dtype):
    auto = AutoModelForMaskedLM if config.model_type == "bert" else AutoModelForCausalLM
    return auto.from_config(config, attn_implementation="eager", torch_dtype=dtype)


def tokens(source):
    """Of text.txt (bert: of each line), and of the texts of ids.json."""
    if not is_tokenizers_available():
        return parts[source], recorded[source]
    t = PreTrainedTokenizerFast(tokenizer_file=os.path.join(here, source, "tokenizer.json"))
    ids = lambda x: t(x, add_special_tokens=False)["input_ids"]
    return [ids(x) for x in text.splitlines()] if source == "bert" else ids(text), [ids(x) for x in recorded["texts"]]


def logits(model, ids):
    call = lambda x: model(torch.tensor([x])).logits[0]
    if model.config.model_type == "bert":  # [CLS] is 2, [SEP] 3, [MASK] 4
        lines = [[2] + line + [3] for line in ids]
        return torch.stack([call(x[:i] + [4] + x[i + 1 :])[i] for x in lines for i in range(1, len(x) - 1)])
    x, T = [model.config.bos_token_id] + ids[:-1], model.config.max_position_embeddings
    return torch.cat([call(x[i : i + T]) for i in range(0, len(x), T)])


torch.manual_seed(1)
torch.set_grad_enabled(False)
single, saved, found = torch.float32, {}, {"texts": recorded["texts"]}
for kind, source in TOKENS.items():
    config = AutoConfig.for_model(**json.load(open(os.path.join(here, kind, "config.json"))))
    stored = getattr(config, "torch_dtype", None) or single
    model = build(config, single)
    for p in model.parameters():
        p.normal_(0, 0.3) if p.ndim > 1 else p.add_(torch.randn_like(p) * 0.3)
    model = model.to(getattr(torch, stored) if isinstance(stored, str) else stored)
    model.save_pretrained(os.path.join(out, kind), max_shard_size="12KB" if kind == "llama" else "1GB")
    saved[kind] = {k: x.double() for k, x in model.state_dict().items()}
    parts[source], found[source] = tokens(source)
    print(kind, "tokens as recorded:", found[source] == recorded[source])
json.dump(found, open(os.path.join(out, "ids.json"), "w"))

torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double
torch.set_default_dtype(torch.float64)
for kind, source in TOKENS.items():
    model = build(AutoConfig.from_pretrained(os.path.join(out, kind)), torch.float64).eval()
    model.load_state_dict(saved[kind])
    z = logits(model, parts[source])[-16:]
    np.save(os.path.join(out, kind, "logits.npy"), z.numpy().astype(np.float32))
    print(kind, tuple(z.shape))
for path in exported:
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.float64).eval()
    np.savetxt(sys.stdout, model(torch.arange(1, 9)[None]).logits[0].numpy(), "%.9g", header=path)
