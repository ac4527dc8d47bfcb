"""What the Python module refuses, and what its small reader of models takes (test_library.c)."""
import trotter, numpy
def raises(f, *a):
    try: f(*a)
    except Exception as e: return type(e).__name__, str(e)
    raise SystemExit('not refused: %r' % (a,))
assert raises(trotter.order, 'rk44') == ('Error', "scheme 'rk44'") or 'rk4' in raises(trotter.order, 'rk44')[1]
assert raises(trotter.load, 'nowhere')[0] == 'Error'
bad = trotter.System(F=lambda t, y: 1 / 0, G=lambda t, y: y, initial=[[1.0]])
assert raises(trotter.solve, 'rk4', bad, 0.1, 1)[0] == 'ZeroDivisionError'
m = trotter.load('run')
assert 'takes 1 to' in raises(m.logits, numpy.zeros(10000))[1]
import read_model
ids = m.encode('in the beginning')[:4]
a, b = m.logits(ids), read_model.logits(*read_model.read('run/model.safetensors'), ids)
assert abs(a - b).max() < 1e-12 * abs(a).max(), abs(a - b).max()
told, w = read_model.read('run/model.safetensors')
told['activation'] = 'relu'
assert abs(a - read_model.logits(told, w, ids)).max() > 1e-6
for bad in (lambda: trotter.order(None), lambda: trotter.System(), lambda: m.logits([[0, 1]]), lambda: m.logits([0.5])):
    assert raises(bad)[0] == 'TypeError'
s = trotter.System(F=lambda t, y: -y, G=lambda t, y: 0 * y, initial=[1.0])
assert raises(trotter.solve, 'rk4', s, 0.1, -1)[0] == 'ValueError'
assert 'field, brackets' in raises(trotter.expand, 'rk4', 4, 'roots')[1]
try: trotter.solve('rk4', s, 0, 1)
except trotter.Error as e: assert e.code == -4, e.code  # the library's own code
# The small reader runs nothing but arithmetic.
for line in ('k1 = H(y[-1])', 'k1 = __import__(y)', 'k1 = 9**9', "y' = y.T", 'k1 = ' + '1' * 99 + '!'):
    assert raises(read_model.logits, dict(told, scheme_text=line), w, ids)[0] == 'ValueError', line
