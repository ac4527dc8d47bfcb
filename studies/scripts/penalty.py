"""penalty.py: the slopes of the planned study penalty-64 (studies/results/planned/penalty-64.txt has the rules, planned.sh runs it).

    python3 studies/scripts/penalty.py DIR OUT     # when all is trained: OUT/runs.csv, all rows of DIR/*/runs.csv, OUT/lines.csv and a picture (gnuplot)

A line is one scheme, one seed and one kind of penalty, at its four factors. lines.csv has slopes by least squares: `slope` and
`valid_slope` of the log of the perplexity of the test text and of validation on the log of the truncation error at h = 1 of the layer
that was trained with a penalty on its error, where the control's four trainings stand at the places of those whose penalty is as
large; `own_slope` that of the test text on the line's own errors; `moved` how far the log of these goes."""
import csv
import math
import subprocess
import sys
from pathlib import Path

from many import write_rows


def slope(x, y):
    middle = sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)


def results(folder, out):
    runs, lines = [], {}
    for path in sorted(folder.glob("*/runs.csv")):
        with open(path, newline="") as file:
            runs += [row for row in csv.DictReader(file) if row not in runs]  # each table ends with the same bound
    for row in runs:
        kind, _, factor = row["step-penalty"].partition("=")
        if not row["part"] and factor and float(factor) > 0:
            point = [math.log(float(row[x])) for x in ("test_ppl", "valid_ppl", "truncation")]
            lines.setdefault((row["integrator"], row["seed"], kind), []).append((float(factor), *point))
    table = []
    for (scheme, seed, kind), points in sorted(lines.items()):
        assert len(points) == 4, f"{scheme}, seed {seed}, {kind}: {len(points)} trainings, not 4"
        _, test, valid, error = zip(*sorted(points))
        place = [point[-1] for point in sorted(lines[scheme, seed, "error"])]
        table.append({"kind": kind, "line": f"{scheme} {seed}", "scheme": scheme, "slope": round(slope(place, test), 6), "valid_slope": round(slope(place, valid), 6),
                      "own_slope": round(slope(error, test), 6), "moved": round(max(error) - min(error), 6)})
    write_rows(out / "runs.csv", runs)
    write_rows(out / "lines.csv", table)
    draw_picture(lines, out / "penalty.svg")


def draw_picture(lines, path):
    """A panel for each scheme: trainings as small marks, their geometric means over seeds as lines, perplexity of the test text against the error."""
    schemes = list(dict.fromkeys(scheme for scheme, _, _ in lines))
    commands = [f"set terminal svg size {400 * len(schemes)},420 font 'sans,13' background 'white'", f"set output '{path}'", f"set multiplot layout 1,{len(schemes)}",
                "set logscale x 2", "set grid", "set xlabel 'truncation error of the trained layer, h = 1'", "set key below"]
    for scheme in schemes:
        commands += [f"set title '{scheme}'", f"set ylabel '{'' if scheme != schemes[0] else 'perplexity of the test text'}'"]
        parts = []
        for kind, colour in (("error", "#0072b2"), ("displacement", "#d55e00")):
            seeds = [sorted(points) for (of, _, k), points in lines.items() if (of, k) == (scheme, kind)]
            cloud = [(math.exp(error), math.exp(test)) for points in seeds for _, test, _, error in points]
            means = [tuple(math.exp(sum(point[i] for point in at) / len(at)) for i in (3, 1)) for at in zip(*seeds)]
            for name, rows in (("cloud", cloud), ("means", means)):
                commands += [f"${kind}_{name} << EOD", *(f"{x:.6g} {y:.6g}" for x, y in rows), "EOD"]
            parts += [f"${kind}_cloud with points pt 7 ps 0.3 lc rgb '{colour}' notitle", f"${kind}_means with linespoints pt 7 ps 0.7 lc rgb '{colour}' title 'penalty on the {kind}'"]
        commands.append("plot " + ", ".join(parts))
    subprocess.run(["gnuplot"], input="\n".join(commands + ["unset multiplot", ""]), text=True, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results(Path(sys.argv[1]), Path(sys.argv[2]))
