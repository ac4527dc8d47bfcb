"""What the Python module refuses, what its small reader of models takes, and what threads and OpenMP do in it (test_library.c)."""
import os, subprocess, sys, threading
import trotter, numpy
from asserts import raises
assert raises(trotter.order, 'rk44') == ('Error', "scheme 'rk44'") or 'rk4' in raises(trotter.order, 'rk44')[1]
assert raises(trotter.load, 'nowhere')[0] == 'Error'
bad = trotter.System(F=lambda t, y: 1 / 0, G=lambda t, y: y, initial=[[1.0]])
assert raises(trotter.solve, bad)[0] == 'ZeroDivisionError'
m = trotter.load('run')
assert 'takes 1 to' in raises(m.logits, numpy.zeros(10000, int))[1]
import read_model
ids = m.encode('in the beginning')[:4]
a, b = m.logits(ids), read_model.logits(*read_model.read('run/model.safetensors'), ids)
assert abs(a - b).max() < 1e-12 * abs(a).max(), abs(a - b).max()
told, w = read_model.read('run/model.safetensors')
told['activation'] = 'relu'
assert abs(a - read_model.logits(told, w, ids)).max() > 1e-6
for bad in (lambda: trotter.order(None), lambda: trotter.System(), lambda: m.logits([[0, 1]]), lambda: m.logits([0.5]),
            lambda: m.logits([1.0]), lambda: m.logits(numpy.zeros(2)), lambda: trotter.expand('rk4', 4.0),
            lambda: trotter.solve(lambda t, y: None, (0, 1), [1.0])):
    assert raises(bad)[0] == 'TypeError'
assert 'lacks a return' in raises(trotter.solve, lambda t, y: None, (0, 1), [1.0])[1]
for bad in (lambda: m.logits([2 ** 32]), lambda: m.logits([-2 ** 31 - 1]), lambda: trotter.expand('rk4', 2 ** 32 + 3), lambda: trotter.measure('rk4', 'linear', halvings=2 ** 32 + 6),
            lambda: m.truncation([0], halvings=2 ** 32 + 6), lambda: trotter.conditions('rk4', 2 ** 32 + 3), lambda: trotter.load('run', 2 ** 64)):
    assert raises(bad)[0] == 'ValueError', raises(bad)
s = trotter.System(F=lambda t, y: -y, G=lambda t, y: 0 * y, initial=[1.0])
assert 'field, brackets' in raises(trotter.expand, 'rk4', 4, 'roots')[1]
try: trotter.solve(s, (0, 0))
except trotter.Error as e: assert e.code == -4, e.code  # the library's own code
# The small reader runs nothing but arithmetic.
for line in ('k1 = H(y[-1])', 'k1 = __import__(y)', 'k1 = 9**9', "y' = y.T", 'k1 = ' + '1' * 99 + '!'):
    assert raises(read_model.logits, dict(told, scheme_text=line), w, ids)[0] == 'ValueError', line
# Threads may share a handle: each gets what it gets alone, and its own exception.
texts = [[0, 1, 2], [2, 1, 0, 3], [1], [3, 3, 2, 0, 1]]
alone = [m.logits(t) for t in texts]
errors = [m.truncation(t, halvings=3).error for t in texts]
orbits = [trotter.System(name) for name in ('kepler', 'attention')]
paths = [[trotter.solve(s, (0, 40 * h), scheme='rk4', steps=40).y for h in (.1, .05, .025, .2)] for s in orbits]
wrong = []
def share(k):
    for i in range(12):
        wrong.extend([k] * (not numpy.array_equal(m.logits(texts[k]), alone[k])))
        if i % 4 == 0: wrong.extend([k] * (not numpy.array_equal(m.truncation(texts[k], halvings=3).error, errors[k])))
        for s, p in zip(orbits, paths): wrong.extend([k] * (not numpy.array_equal(trotter.solve(s, (0, 40 * (.1, .05, .025, .2)[k]), scheme='rk4', steps=40).y, p[k])))
        try: trotter.solve(own, (0, .5 + .1 * k), scheme='rk4', steps=5 + k)
        except ZeroDivisionError as e: wrong.extend([k] * (k != 3))
        else: wrong.extend([k] * (k == 3))
def F(t, y):
    if t > .75: 1 / 0  # the fourth thread alone goes so far
    return -y
own = trotter.System(F=F, initial=[1.0])
threads = [threading.Thread(target=share, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, wrong
# OpenMP's waiting threads look 1,000 times before they sleep, unless the user has said how they wait; the environment stays.
assert 'GOMP_SPINCOUNT' not in os.environ
for said, spins in (({}, "'1000'"), ({'OMP_WAIT_POLICY': 'passive'}, "'0'"), ({'GOMP_SPINCOUNT': '7'}, "'7'")):
    env = {k: v for k, v in os.environ.items() if k not in ('OMP_WAIT_POLICY', 'GOMP_SPINCOUNT')}
    told = subprocess.run([sys.executable, '-c', 'import trotter'], env=dict(env, OMP_DISPLAY_ENV='verbose', **said), capture_output=True, text=True)
    assert told.returncode == 0 and 'GOMP_SPINCOUNT = ' + spins in told.stderr, told.stderr
