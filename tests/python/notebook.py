"""Runs the code cells of a notebook in order, as Jupyter would: python3 notebook.py FILE.ipynb [DIRECTORY FOR PICTURES].

The last expression of a cell is shown: as SVG, as LaTeX, or by print. What a cell raises ends it, with the cell's number."""
import ast
import json
import os
import sys


def show(value, number):
    if hasattr(value, "_repr_svg_"):
        text = value._repr_svg_()
        print("cell %d: a picture of %d bytes" % (number, len(text)))
        if len(sys.argv) > 2:
            with open(os.path.join(sys.argv[2], "cell-%d.svg" % number), "w") as f:
                f.write(text)
    elif value is not None:
        print(value._repr_latex_() if hasattr(value, "_repr_latex_") else value)


with open(sys.argv[1]) as f:
    cells = ["".join(c["source"]) for c in json.load(f)["cells"] if c["cell_type"] == "code"]
names = {}
for number, text in enumerate(cells, 1):
    try:
        tree = ast.parse(text)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell %d" % number, "exec"), names)
        if last:
            show(eval(compile(ast.Expression(last.value), "cell %d" % number, "eval"), names), number)
    except Exception as e:
        sys.exit("cell %d: %s: %s" % (number, type(e).__name__, e))
print("%d cells" % len(cells))
