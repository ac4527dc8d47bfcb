#!/usr/bin/env python3
"""The training step of `trotter bench train` in PyTorch, for the same work: token embedding (tied with the output) times
sqrt(d) and sinusoids, dropout, layers, norm, logits, cross-entropy; a step is forward, backward, clipping to norm 1, Adam.
Dropout is on the embedding, on what sublayers give, on attention weights and behind the activation.

    f_att(y) = drop(Wo drop(softmax(QK^T / sqrt(e))) V),  f_ffn(y) = drop(W2 drop(relu(W1 LN y)))
    standard   y += f_att(y); y += f_ffn(y)
    macaron2   y += f_ffn1(y); y += f_att(y); y += f_ffn2(y), each of width ffn/2
    rk2, rk4   Heun, classic: F(y) = f_att(y) + f_ffn(y + f_att(y))

The last line is JSON with the median tokens_per_s and what it was called with."""
import argparse
import contextlib
import json
import math
import os
import statistics
import time

ap = argparse.ArgumentParser()
for name, value in (('d', 512), ('ffn', 2048), ('heads', 8), ('layers', 1), ('vocab', 10000), ('batch', 64), ('seq', 64),
                    ('steps', 10), ('warmup', 2), ('threads', 2)):
    ap.add_argument('--' + name, type=int, default=value)
ap.add_argument('--scheme', default='standard', choices=['standard', 'macaron2', 'rk2', 'rk4'])
ap.add_argument('--dropout', type=float, default=0.1)
ap.add_argument('--attention-dropout', type=float, default=0.1)
ap.add_argument('--activation-dropout', type=float, default=0.1)
ap.add_argument('--device', default='cpu')
ap.add_argument('--tf32', action='store_true', help='products in tf32')
ap.add_argument('--bf16', action='store_true', help='autocast to bf16, weights in f32')
ap.add_argument('--fused', action='store_true', help="Adam's fused kernel")
ap.add_argument('--compile', action='store_true', help='torch.compile')
ap.add_argument('--graph', action='store_true', help='the step as one CUDA graph')
ap.add_argument('--sdpa', action='store_true', help='scaled_dot_product_attention')
a = ap.parse_args()
os.environ.setdefault('OMP_NUM_THREADS', str(a.threads))
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(a.threads)
torch.manual_seed(1)
if a.tf32:
    torch.backends.cuda.matmul.allow_tf32 = True
dev = torch.device(a.device)


class Att(nn.Module):
    def __init__(s):
        super().__init__()
        s.ln, s.qkv, s.o = nn.LayerNorm(a.d), nn.Linear(a.d, 3 * a.d), nn.Linear(a.d, a.d)

    def forward(s, y, mask):
        B, T, d = y.shape
        q, k, v = s.qkv(s.ln(y)).view(B, T, 3, a.heads, d // a.heads).permute(2, 0, 3, 1, 4)
        if a.sdpa:
            z = F.scaled_dot_product_attention(q, k, v, dropout_p=a.attention_dropout, is_causal=True)
        else:
            w = torch.softmax((q @ k.transpose(-1, -2)) / math.sqrt(d // a.heads) + mask, -1)
            z = F.dropout(w, a.attention_dropout).to(v.dtype) @ v
        return F.dropout(s.o(z.transpose(1, 2).reshape(B, T, d)), a.dropout)


class FFN(nn.Module):
    def __init__(s, inner):
        super().__init__()
        s.ln, s.a, s.b = nn.LayerNorm(a.d), nn.Linear(a.d, inner), nn.Linear(inner, a.d)

    def forward(s, y):
        return F.dropout(s.b(F.dropout(F.relu(s.a(s.ln(y))), a.activation_dropout)), a.dropout)


class Layer(nn.Module):
    def __init__(s):
        super().__init__()
        two = a.scheme == 'macaron2'
        s.att, s.ffn = Att(), FFN(a.ffn // 2 if two else a.ffn)
        s.ffn2 = FFN(a.ffn // 2) if two else None

    def field(s, y, mask):
        u = s.att(y, mask)
        return u + s.ffn(y + u)

    def forward(s, y, mask):
        if a.scheme == 'rk2':
            k1 = s.field(y, mask)
            return y + 0.5 * (k1 + s.field(y + k1, mask))
        if a.scheme == 'rk4':
            k1 = s.field(y, mask)
            k2 = s.field(y + 0.5 * k1, mask)
            k3 = s.field(y + 0.5 * k2, mask)
            return y + (k1 + 2 * k2 + 2 * k3 + s.field(y + k3, mask)) / 6
        if a.scheme == 'macaron2':
            y = y + s.ffn(y)
        y = y + s.att(y, mask)
        return y + (s.ffn2 or s.ffn)(y)


class LM(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(a.vocab, a.d)
        nn.init.normal_(s.emb.weight, std=a.d ** -0.5)
        at = torch.arange(a.seq).float()[:, None] * torch.exp(torch.arange(0, a.d, 2).float() * (-math.log(1e4) / a.d))
        s.register_buffer('sines', torch.stack((at.sin(), at.cos()), -1).view(a.seq, a.d))
        s.register_buffer('mask', torch.full((a.seq, a.seq), float('-inf')).triu(1))
        s.layers = nn.ModuleList(Layer() for _ in range(a.layers))
        s.ln = nn.LayerNorm(a.d)

    def forward(s, x, target):
        y = F.dropout(s.emb(x) * math.sqrt(a.d) + s.sines, a.dropout)
        for layer in s.layers:
            y = layer(y, s.mask)
        z = F.linear(s.ln(y), s.emb.weight)
        return F.cross_entropy(z.view(-1, a.vocab).float(), target.reshape(-1))


model = LM().to(dev).train()
net = torch.compile(model) if a.compile else model
how = {'fused': True} if a.fused else {'foreach': True}
if a.graph:
    how['capturable'] = True
adam = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, **how)
cast = torch.autocast(dev.type, torch.bfloat16, cache_enabled=not a.graph) if a.bf16 else contextlib.nullcontext()
# Words come with probability about 1 / (1 + rank), as those of a text do.
rank = 1 / torch.arange(1, a.vocab + 1).float()
words = torch.multinomial(rank, 8 * a.batch * (a.seq + 1), True).view(8, a.batch, a.seq + 1).to(dev)
x, target = words[0, :, :-1].clone(), words[0, :, 1:].clone()


def whole_step():
    adam.zero_grad(set_to_none=not a.graph)
    with cast:
        loss = net(x, target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    return loss


replay = whole_step
if a.graph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for i in range(3):
            whole_step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = whole_step()

    def replay():
        graph.replay()
        return kept


def step(i):
    x.copy_(words[i % 8, :, :-1])
    target.copy_(words[i % 8, :, 1:])
    return replay()


wait = torch.cuda.synchronize if dev.type == 'cuda' else (lambda: None)
times = []
for i in range(a.warmup + a.steps):
    wait()
    begun = time.perf_counter()
    loss = step(i)
    wait()
    times.append(time.perf_counter() - begun)
loss = loss.item()
if not math.isfinite(loss):
    raise SystemExit('the loss is not finite')
print(json.dumps(dict(vars(a), torch=torch.__version__, loss=round(loss, 4), params=sum(p.numel() for p in model.parameters()),
                      tokens_per_s=a.batch * a.seq / statistics.median(times[a.warmup:]))))
