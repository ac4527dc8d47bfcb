#!/usr/bin/env python3
"""tiny_transformers.py OUT [EXPORTED...]: the tiny models of tests/foreign by `transformers` (5.17), for a machine that has it.

    python3 tests/python/tiny_transformers.py OUT            # needs torch, transformers; no network, some seconds
    TROTTER_FOREIGN=OUT build/release/tests/commands/test_foreign        # where trotter is: compares it with them

For each family OUT/TYPE gets what tests/python/tiny_models.py writes (its config.json and tokenizer.json are read from
tests/foreign), with random weights and logits of `transformers` in float64, and OUT/ids.json the tokens of its tokenizers
for the texts of tests/foreign/ids.json. EXPORTED: directories of `trotter export`; logits of the ids 1, 2, ... 8 are printed."""
import json, os, shutil, sys
import numpy as np, torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedTokenizerFast

out, exported = sys.argv[1], sys.argv[2:]
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "foreign")
recorded = json.load(open(os.path.join(here, "ids.json"), encoding="utf-8"))
ids_of = {"texts": recorded["texts"]}


def of(kind, **more):
    config = json.load(open(os.path.join(here, kind, "config.json")))
    return AutoConfig.for_model(**{**config, **more})


def logits(model, tokenizer, config, text):
    ids = lambda x: tokenizer(x, add_special_tokens=False)["input_ids"]
    call = lambda x: model(torch.tensor([x])).logits[0]
    if config.model_type == "bert":  # each token masked alone in [CLS] line [SEP]
        cls, sep, mask = tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]", "[MASK]"])
        lines = [[cls] + ids(line) + [sep] for line in text.splitlines()]
        return torch.stack([call(x[:i] + [mask] + x[i + 1 :])[i] for x in lines for i in range(1, len(x) - 1)])
    x, T = [config.bos_token_id] + ids(text)[:-1], config.max_position_embeddings
    return torch.cat([call(x[i : i + T]) for i in range(0, len(x), T)])


torch.manual_seed(1)
for kind, source, more in (("gpt2", "gpt2", {}), ("llama", "llama", {}), ("bert", "bert", {}), ("mistral", "llama", {"sliding_window": None}),
                           ("qwen2", "llama", {"use_sliding_window": False})):
    config = of(source, model_type=kind, **more)
    model = (AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM).from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.3) if p.ndim > 1 else p.add_(torch.randn_like(p) * 0.3)
        model.save_pretrained(os.path.join(out, kind))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(here, source, "tokenizer.json"))
        for file in "tokenizer.json", "text.txt":
            shutil.copy(os.path.join(here, source, file), os.path.join(out, kind, file))
        text = open(os.path.join(here, source, "text.txt"), encoding="utf-8").read()
        z = logits(model.double().eval(), tokenizer, config, text)[-16:]
        np.save(os.path.join(out, kind, "logits.npy"), z.numpy().astype(np.float32))
    ids_of[kind] = [tokenizer(x, add_special_tokens=False)["input_ids"] for x in recorded["texts"]]
    print(kind, tuple(z.shape), "tokens as recorded:", ids_of[kind] == recorded.get(source))
json.dump(ids_of, open(os.path.join(out, "ids.json"), "w"))
for path in exported:
    with torch.no_grad():
        z = AutoModelForCausalLM.from_pretrained(path).double().eval()(torch.arange(1, 9)[None]).logits[0]
    np.savetxt(sys.stdout, z.numpy(), "%.9g", header=path)
