"""Encoders, and models of other programs, read by NumPy alone and compared with the program (test_library.c).

The longer sentence of a pair loses its last word first: the 4 and 6 tokens with <eos> become 2 and 3."""
import numpy, read_model, trotter
def vocabulary(d): return {x: i for i, x in enumerate(open(d + '/vocab.txt').read().split('\n'))}
v, right = vocabulary('encoder'), numpy.load('words.npy')
ids = [v[x] for x in '<cls> and the lord said unto moses <eos>'.split()]
def words(**changed):
    told, w = read_model.read('encoder/model.safetensors')
    told.update(changed)
    one = lambda k: read_model.logits(told, w, ids[:k] + [v['<mask>']] + ids[k + 1:])[k]
    return abs(numpy.array([one(k) for k in range(1, 7)]) - right).max()
assert words() < 1e-6 * abs(right).max(), words()
assert words(format='trotter language model 1') > 1e-3
assert words(**{'first-relu': 'no'}) > 1e-3
v, said = vocabulary('labels'), [x.split() for x in open('pair').read().split('\t')]
ids = [v['<cls>']] + [v[x] for s in said for x in s + ['<eos>']]
line = open('classified.csv').read().split('\n')[1].split(',')
def label(segments):
    told, w = read_model.read('labels/model.safetensors')
    z = read_model.classes(told, w, ids, segments)
    return told['labels'].split('\t')[z.argmax()], (numpy.exp(z - z.max()) / numpy.exp(z - z.max()).sum()).max()
name, p = label([0] + [0] * (len(said[0]) + 1) + [1] * (len(said[1]) + 1))
assert name == line[1] and abs(p - float(line[2])) < 1e-9, (name, p, line)
assert abs(label(None)[1] - float(line[2])) > 1e-6
ids = [v[x] for x in '<cls> the <eos> of the <eos>'.split()]
cut = float(open('cut.csv').read().split('\n')[1].split(',')[2])
assert abs(label([0, 0, 0, 1, 1, 1])[1] - cut) < 1e-9 and abs(cut - float(line[2])) > 1e-9
for d in ('first-relu', 'gate', 'learn', 'today', 'latest', 'learned'):
    a = trotter.load(d).logits([1, 2, 3])
    b = read_model.logits(*read_model.read(d + '/model.safetensors'), [1, 2, 3])
    assert abs(a - b).max() < 1e-12 * abs(a).max(), d
# What only models of other programs tell.
import os, tensors
def told_otherwise(d, **more):
    told, w = read_model.read(d + '/model.safetensors')
    os.makedirs('other', exist_ok=True)
    open('other/vocab.txt', 'w').write(open(d + '/vocab.txt').read())
    tensors.write('other/model.safetensors', w, {k: v for k, v in {**told, **more}.items() if k != 'checksum'})
    a = trotter.load('other').logits([1, 2, 3])
    b = read_model.logits(*read_model.read('other/model.safetensors'), [1, 2, 3])
    assert abs(a - b).max() < 1e-12 * abs(a).max(), more
    return a
for d, key, value in (('first-relu', 'gelu', 'erf'), ('today', 'plain-input', 'yes'), ('today', 'norm-eps', '1e-2'), ('latest', 'norm-eps', '1e-2'), ('today', 'rotary-base', '50'),
                      ('today', 'rotary-scaling', '2.5'), ('today', 'rotary-scaling', '4,1,4,16'), ('today', 'rotary-scaling', '4,0.1,8,16,1.3')):
    assert abs(told_otherwise(d, **{key: value}) - told_otherwise(d)).max() > 1e-9, key
for d in ('post', 'leapfrog'):
    try: read_model.read(d + '/model.safetensors')
    except ValueError as e: assert 'not read here' in str(e)
    else: raise SystemExit(d + ' is read')

# eval --stride: every token once, in windows that begin so many tokens apart
told, w = read_model.read('today/model.safetensors')
v = {word: i for i, word in enumerate(open('today/vocab.txt').read().split('\n')[:-1])}
ids = [v['<eos>']] + [v.get(word, v['<unk>']) for line in open('verses') for word in line.split() + ['<eos>']]
for stride in 1, 5, 8:
    sum_nll = start = done = 0
    while done < len(ids) - 1:
        end = min(start + 8, len(ids) - 1)
        z = read_model.logits(told, w, ids[start:end])
        z -= numpy.log(numpy.exp(z).sum(1, keepdims=True))
        sum_nll -= sum(z[i - start, ids[i + 1]] for i in range(done, end))
        done, start = end, start + stride
    tokens, nll = open(f'stride-{stride}.csv').read().split('\n')[1].split(',')[:2]
    assert int(tokens) == len(ids) - 1 and abs(float(nll) - sum_nll / int(tokens)) <= 1e-8, stride
