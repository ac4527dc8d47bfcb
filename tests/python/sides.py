"""Models of two sides, read as nn/format.md says and compared with the program (test_library.c)."""
import numpy, read_model as r
def words(d, text):
    v = {x: i for i, x in enumerate(open(d + '/vocab.txt').read().split('\n'))}
    return [v[x] for x in text.split()]
def ids(d): return words(d, '3 1 2 5 <eos>'), words(d, '<eos> 2 4 1')
def far(d, z): return abs(z - numpy.load(d + '.npy')).max()
for d in ('turns', 'layered', 'unsplit', 'modern', 'begun', 'zeroed'):
    (source, target), (told, w) = ids(d), r.read(d + '/model.safetensors')
    def of(target=target, source=source, **changed): return far(d, r.logits({**told, **changed}, w, target, source=source))
    assert of() < 1e-6, (d, of())
    assert of(source=source[:-1]) > 1e-4 and of(target=target[1:] + target[:1]) > 1e-4, d
    wrong = [of(scheme_text=told['scheme_text'].replace(*x)) for x in (('decoder\n', '\n'), ('A(y', 'F(y'), ('H(y', 'L(y'), ('norm(', '('))]
    assert max(wrong) > 1e-4, (d, wrong)
assert 'encoder-layers' not in r.load('layered/model.safetensors')[0]
def pair(d, encoder, decoder):
    (source, target), (told, w) = ids(d), r.load(d + '/model.safetensors')
    def op(side, l, m=None): return r.operators(w, told, '%slayers.%d.' % (side, l), side == 'decoder.', m)
    learned = lambda side, l, name: w.get('%slayers.%d.scheme.%s' % (side, l, name))
    m = r.norm(w, 'encoder.norm', encoder(r.embed(told, w, source), op, learned))
    return far(d, r.norm(w, 'final_norm', decoder(r.embed(told, w, target), m, op, learned)) @ w['embed.weight'].T)
def dense(y, op, learned, turn=1):
    first, k1, k2 = y, [], []
    for l in range(3):
        L, w, v = op('encoder.', l)['L'], learned('encoder.', l, 'w'), learned('encoder.', l, 'v')
        k1.append(L(y)); k2.append(L(y + k1[-1]))
        y = first + sum((w[::turn][i] * k1[i] + v[::turn][i] * k2[i]) / 2 for i in range(l + 1))
    return y
def ab2(y, m, op, learned, begin=1):
    k = []
    for l in range(3):
        k.append(op('decoder.', l, m)['H'](y))
        y = y + (begin * k[0] if l == 0 else 3 / 2 * k[l] - k[l - 1] / 2)
    return y
def ab3(y, op, learned):
    k = []
    for l in range(4):
        k.append(op('encoder.', l)['H'](y))
        y = y + (k[l] if l < 2 else 23 / 12 * k[l] - 4 / 3 * k[l - 1] + 5 / 12 * k[l - 2])
    return y
def lm(y, m, op, learned):
    state = [y]
    for l in range(3):
        k, a, y = op('decoder.', l, m)['L'](state[-1]), learned('decoder.', l, 'a'), state[-1]
        state.append(y + k if l == 0 else a * y + (1 - a) * state[-2] + k)
    return state[-1]
assert pair('dense', dense, ab2) < 1e-6 and pair('steps', ab3, lm) < 1e-6
assert pair('dense', lambda *x: dense(*x, turn=-1), ab2) > 1e-5
assert pair('dense', dense, lambda *x: ab2(*x, begin=1.5)) > 1e-4
told, w = r.load('odd/model.safetensors')
y, k1, k2 = [r.embed(told, w, words('odd', '<eos> and the lord said'))], [], []
for l in range(3):
    F, G = (r.operators(w, told, 'layers.%d.' % l, False, None)[x] for x in 'FG')
    now, a = y[-1], w['layers.%d.scheme.a' % l]
    f = F(now + k2[-1] / 2 if l else now)
    g = G(now + f + k1[-1] / 4 + (y[-2] - now) / 4 - k2[-1] / 8 if l else now + f + f / 4)
    y.append(3 / 4 * now + y[-2] / 4 + a * f + k1[-1] / 2 + g + k2[-1] / 3 if l else now + (a * f + f / 2) / (1 / 4 + 1 / 2) + g)
    k1.append(f); k2.append(g)
z = r.norm(w, 'final_norm', y[-1]) @ w['embed.weight'].T
assert far('odd', z) < 1e-6, far('odd', z)
