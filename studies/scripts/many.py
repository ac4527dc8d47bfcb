"""many.py: the blocks and the rates of the planned studies many-64 and many-long-64 (studies/results/planned/many-64.txt has the rules, planned.sh runs it).

    python3 studies/scripts/many.py blocks DIR > many.scheme      # DIR/SEED each hold a result.scheme of `trotter design`
    python3 studies/scripts/many.py rate RUNS.csv NAME,NAME       # the rate of least mean log validation perplexity of these schemes
    python3 studies/scripts/many.py results DIR OUT               # when all is trained: tables of DIR's runs, a value for each block, the picture (gnuplot)

A block of the form fgfg has ten coefficients: a to f of the stages, p and q of the step, and 1-p and 1-q there. A drawn block has the norm of all
ten of the found one beside which it stands, none of them negative: p and q are uniform in [0, 1], a to f the magnitudes of normal draws, scaled to what of
the norm remains. All are rounded to thousandths."""
import csv
import math
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

ALIKE = 1 / 64  # blocks whose ten coefficients are all this near count as one
TERM = re.compile(r"([+-])\s*(?:([\d./]+)\*)?k(\d)")
PLACES = [("k2", 1), ("k3", 1), ("k3", 2), ("k4", 1), ("k4", 2), ("k4", 3), ("y'", 1), ("y'", 2), ("y'", 3), ("y'", 4)]


def read_block(path):
    """The ten coefficients of a block, in the order of PLACES; what a line does not have is 0."""
    found = dict.fromkeys(PLACES, Fraction(0))
    for line in path.read_text().splitlines():
        name, _, right = line.partition(" = ")
        for sign, size, stage in TERM.findall(right):
            found[name.strip(), int(stage)] += Fraction(size or 1) * (-1 if sign == "-" else 1)
    assert list(found) == PLACES and found["y'", 1] + found["y'", 3] == 1 == found["y'", 2] + found["y'", 4], path
    return list(found.values())


def draw_block(seed, norm2, found):
    """A block of the squared norm `norm2` that is like none of `found`."""
    source = random.Random(seed)
    while True:
        p, q = source.random(), source.random()
        stages = [abs(source.gauss(0, 1)) for _ in range(6)]
        rest = norm2 - p * p - q * q - (1 - p) ** 2 - (1 - q) ** 2
        if rest <= 0:
            continue
        scale = math.sqrt(rest / sum(x * x for x in stages))
        p, q, *stages = (Fraction(round(1000 * x), 1000) for x in [p, q, *(scale * x for x in stages)])
        block = [*stages, p, q, 1 - p, 1 - q]
        if not any(is_alike(block, other) for other in found):
            return block


def is_alike(one, other):
    return all(abs(x - y) <= ALIKE for x, y in zip(one, other))


def print_block(name, title, source, block):
    lines = dict.fromkeys(["k2", "k3", "k4", "y'"], "")
    for (line, stage), value in zip(PLACES, block):
        if value:
            lines[line] += f" {'-' if value < 0 else '+'} {abs(value)}*k{stage}"
    print(f"\nscheme {name}\ntitle  {title}\nsource own: {source}\nk1 = F(y)")
    for line, field in (("k2", "G"), ("k3", "F"), ("k4", "G")):
        print(f"{line} = {field}(y{lines[line]})")
    print(f"y' = y{lines[chr(121) + chr(39)]}")


def seeds_of(folder):
    """The seeds of the searched layers, whose folders are called by them."""
    return sorted(int(path.name) for path in Path(folder).iterdir())


def blocks(folder):
    seeds, study = seeds_of(folder), Path(folder).resolve().parent.name
    print(f"# Blocks of the planned study {study}, made by studies/scripts/many.py: found-NN by `trotter design` as that of least truncation error in one\n"
          "# trained layer, drawn-NN at random with the same norm of coefficients. Two found ones that are alike are one: the later is left out.")
    found = [read_block(Path(folder) / str(seed) / "result.scheme") for seed in seeds]
    kept = []
    for number, (seed, block) in enumerate(zip(seeds, found), 1):
        twin = next((i for i in kept if is_alike(found[i - 1], block)), None)
        if twin:
            print(f"\n# found-{number:02} is found-{twin:02}")
            continue
        kept.append(number)
        print_block(f"found-{number:02}", f"Two F and two G in turn, the least error at h = 1 in the trained layer of seed {seed}",
                    f"trotter design --scheme fgfg --objective error --order 1 --seed {seed} (planned.sh {study})", block)
    for number, (seed, block) in enumerate(zip(seeds, found), 1):
        print_block(f"drawn-{number:02}", f"Two F and two G in turn, drawn by seed {seed} with the norm of found-{number:02}",
                    f"studies/scripts/many.py, seed {seed}", draw_block(seed, float(sum(x * x for x in block)), found))


def rate(path, names):
    logs = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["integrator"] in names:
                logs.setdefault(row["rate"], []).append(math.log(float(row["valid_ppl"])))
    assert logs and all(len(x) == len(names) for x in logs.values()), f"{path}: not every scheme has been trained at every rate"
    print(min(logs, key=lambda r: sum(logs[r])))


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def results(folder, out):
    """runs.csv, rates.csv and search.csv have the program's rows; blocks.csv a row a block: means of 100 log of its perplexities, so that differences are percent."""
    runs = []
    for name in ("found", "drawn", "looped2", "repeat2", "fgfg-error"):
        runs += [row for row in read_rows(folder / name / "runs.csv") if row not in runs]  # each table ends with the same bound
    write_rows(out / "runs.csv", runs)
    write_rows(out / "rates.csv", read_rows(folder / "rates" / "runs.csv"))
    write_rows(out / "search.csv", [{"seed": seed, **row} for seed in seeds_of(folder / "search") for row in read_rows(folder / "search" / str(seed) / "design.csv")])
    values = {}
    for row in runs:
        if row["seed"]:
            values.setdefault(row["scheme"], []).append([100 * math.log(float(row["test_ppl"])), 100 * math.log(float(row["valid_ppl"])), float(row["truncation"] or "nan")])
    table = []
    for name, logs in values.items():
        kind, _, number = name.partition("-") if name[:5] in ("found", "drawn") else (name, "", "")
        test, valid, error = (sum(x) / len(x) for x in zip(*logs))
        table.append({"kind": kind, "block": number, "test_log": round(test, 4), "valid_log": round(valid, 4), "truncation": round(error, 6)})
    write_rows(out / "blocks.csv", table)
    draw_picture(table, out / "truncation.svg")


def draw_picture(table, path):
    points = {}
    for row in table:
        points.setdefault(row["kind"], []).append((row["truncation"], math.exp(row["test_log"] / 100)))
    styles = {"found": "pt 7 lc rgb '#0072b2'", "drawn": "pt 6 lc rgb '#d55e00'", "looped:2": "pt 5 lc rgb 'black'", "repeat:2": "pt 9 lc rgb 'black'", "fgfg-error": "pt 13 lc rgb 'black'"}
    lines = ["set terminal svg size 900,600 font 'sans,14' background 'white'", f"set output '{path}'", "set xlabel 'truncation error of the trained layers, h = 1'",
             "set ylabel 'perplexity of the test text (lower is better)'", "set key outside right", "set grid", "set offsets graph 0.03, graph 0.03, graph 0.03, graph 0.03"]
    for kind, style in styles.items():
        lines += [f"${kind.replace(':', '').replace('-', '')} << END", *(f"{x} {y}" for x, y in points[kind]), "END"]
    lines.append("plot " + ", ".join(f"${kind.replace(':', '').replace('-', '')} with points ps 1.2 lw 1.5 {style} title '{kind}'" for kind, style in styles.items()))
    subprocess.run(["gnuplot"], input="\n".join(lines) + "\n", text=True, check=True)


def main(words):
    if words[:1] == ["blocks"] and len(words) == 2:
        blocks(words[1])
    elif words[:1] == ["rate"] and len(words) == 3:
        rate(words[1], words[2].split(","))
    elif words[:1] == ["results"] and len(words) == 3:
        results(Path(words[1]), Path(words[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
