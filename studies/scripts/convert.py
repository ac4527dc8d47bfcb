#!/usr/bin/env python3
"""convert.py: brings the recorded runs of pairs and of fine-tunings into the one form of tables of runs.

    python3 studies/scripts/convert.py studies/results

translation/pairs-1 and pairs-2 become translation/pairs, whose runs.csv and lines.csv have the pair and the seed as key.
result.csv of masked/TASK-SCHEME-SEED says by its column `part` that the majority is a bound and no run. Numbers stay as
they are written, letter by letter.
"""
import csv, glob, os, sys

root = sys.argv[1]
aliases = {"transformer-decoder": "transformer", "macaron-decoder": "macaron", "strang-decoder:euler": "strang-decoder",
           "sandwich:2-1:euler": "sandwich:2-1", "sandwich:2-1-decoder:euler": "sandwich:2-1"}


def read(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    return rows[0], [dict(zip(rows[0], r)) for r in rows[1:]]


def write(path, names, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(names)
        w.writerows([r.get(n, "") for n in names] for r in rows)


def pair_name(r):
    sides = [(aliases.get(r[s], r[s]), r[l]) for s, l in (("encoder", "encoder_layers"), ("decoder", "layers"))]
    if all(layers == "2" for _, layers in sides):
        return " / ".join(name for name, _ in sides)
    return " / ".join(f"{name}@{layers}" for name, layers in sides)


def translation():
    folder = os.path.join(root, "translation")
    runs, lines = [], []
    names = ["pair", "seed", "valid_ppl", "test_ppl", "diverged", "encoder", "decoder", "encoder_layers", "layers",
             "encoder_order", "decoder_order", "params", "best_epoch", "tokens_per_s", "peak_bytes", "valid_exact",
             "test_exact", "epochs", "how", "valid_bleu", "test_bleu", "test_chrf", "brevity", "sentences_per_s",
             "encoder_error", "encoder_slope", "decoder_error", "decoder_slope"]
    for part in ("pairs-1", "pairs-2"):
        old, rows = read(os.path.join(folder, part, "runs.csv"))
        orders = {tuple(r[k] for k in ("encoder", "decoder", "encoder_layers", "layers")): r
                  for r in read(os.path.join(folder, part, "compare.csv"))[1]}
        for r in rows:
            cell = orders[tuple(r[k] for k in ("encoder", "decoder", "encoder_layers", "layers"))]
            r.update(pair=pair_name(r), epochs="12", encoder_order=cell["encoder_order"],
                     decoder_order=cell["decoder_order"])
        kept, matches = read(os.path.join(folder, part, "lines.csv"))
        for m in matches:
            m.update(pair=rows[int(m["run"])]["pair"], seed=rows[int(m["run"])]["seed"])
        runs += rows
        lines += matches
    order = list(dict.fromkeys(r["pair"] for r in runs))
    key = lambda r: (order.index(r["pair"]), int(r["seed"]))
    write(os.path.join(folder, "pairs", "runs.csv"), names, sorted(runs, key=key))
    write(os.path.join(folder, "pairs", "lines.csv"), ["pair", "seed"] + kept[1:], sorted(lines, key=key))


def masked():
    for path in sorted(glob.glob(os.path.join(root, "masked", "*-[0-9]", "result.csv"))):
        names, rows = read(path)
        for r in rows:
            r["part"] = "bound" if r["start"] == "majority" else ""
            if r["part"]:
                r["scheme"] = "majority"
        at = names.index("start") + 1
        write(path, names[:at] + ["part"] + names[at:], rows)


translation()
masked()
