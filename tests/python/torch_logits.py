"""Logits of torch_model.py and, of schemes that it reads, of read_model.py beside the program's (test_torch.c), which are
written in f32: numbers below 4 differ by 2^-23 at most. The last line spoils a reading."""
import sys, numpy, read_model, torch
from torch_model import Model
read = 0
for i in range(int(sys.argv[1])):
    m, a = Model('run%d' % i), torch.tensor(numpy.load('run%d.npy' % i))
    word = [line.strip() for line in open('run%d/vocab.txt' % i)]
    ids = torch.tensor([0] + [word.index(w) if w in word else word.index('<unk>') for w in open('said').read().split()])
    ids[0] = word.index('<eos>')
    z = m(torch.stack([ids, ids.flip(0)]))
    assert (z[0] - a).abs().max() < 2**-23 * 4, (sys.argv, i, (z[0] - a).abs().max())
    try:
        b = read_model.logits(*read_model.read('run%d/model.safetensors' % i), ids.tolist())
        assert abs(b - a.numpy()).max() < 2**-23 * 4, (sys.argv, i)
        read += 1
    except ValueError as e:
        assert 'read here' in str(e), e
    z.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in m.parameters()), i
    with torch.no_grad(): m.layers[0].w['attn/1/qkv/weight'][0, 0] += 1
    assert (m(ids) - a).abs().max() > 1e-5, i
assert read >= 13, read
