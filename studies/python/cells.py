# Ten cells, for Jupyter or as they stand: `python3 cells.py [DIRECTORY OF A MODEL]`.
# %% what a scheme is
import sys
import numpy as np
import trotter

print(trotter.Scheme("macaron").text)
# %% exact order
for name in ("euler", "strang-marchuk", "macaron", "rk4"):
    print(name, trotter.order(name).order)
# %% a scheme of one's own
mine = trotter.Scheme("scheme mine\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2\n")
print(mine.name, trotter.order(mine).order)
# %% its leading error terms, exact
for term in trotter.expand(mine):
    print(term.coefficient, term.name)
# %% those of a splitting, as commutators
for term in trotter.expand("strang-marchuk", 3, "brackets"):
    print(term.coefficient, term.name)
# %% stability
print(trotter.stability("rk4"))
z = np.linspace(-4, 1, 51)[None, :] + 1j * np.linspace(-4, 4, 81)[:, None]
print("%.3f of the window is stable" % np.mean(trotter.amplification("rk4", z) <= 1))
# %% measured order; in Jupyter its plot
study = trotter.measure("heun", "attention")
print("%s: measured %.2f, exact %d: %s" % (study.scheme, study.slope, study.expected, study.verdict))
study
# %% a system of one's own: a pendulum, drift and kick
pendulum = trotter.System(F=lambda t, y: [[0, -np.sin(y[0, 0])]], G=lambda t, y: [[y[0, 1], 0]], initial=[[1, 0]])
print(np.abs(trotter.solve("rk4", pendulum, 0.1, 10) - trotter.reference(pendulum, 1)).max())
# %% metrics
print(trotter.score("bleu", ["the cat sat on the mat"], ["the cat sat on a mat"]))
print(trotter.score("matthews", [1, 0, 1, 1], [1, 0, 0, 1]))
# %% a trained model: what it says next, and how far its layer is from its exact flow
if len(sys.argv) > 1:
    model = trotter.load(sys.argv[1])
    ids = model.encode("in the beginning")[:4]
    print([model.vocabulary[i] for i in model.logits(ids)[-1].argsort()[::-1][:5]])
    print(model.truncation(ids)["relative"])
