#!/usr/bin/env python3
"""torch_pairs.py: how fast PyTorch trains an encoder and a decoder, as its users write one: a peer of `trotter bench pairs`.

nn.Transformer with batch_first, padding masks and a causal mask; one matrix for both embeddings and the output, scaled by
sqrt(d) at the input; sinusoids; dropout on the embeddings, and where nn.Transformer has it; CrossEntropyLoss with label
smoothing; Adam. A step is: gradients to zero, forward, backward, clipping of the global norm, Adam. Weights are random, and so
are the words: only lengths matter to speed, and those are the other side's, batch by batch (--pairs FILE: a line "BATCH SOURCE
TARGET" a pair, lengths with <eos>). Sentences of a batch are padded to its longest.

The last line is JSON: tokens_per_s, the median over steps of the target's tokens a second, <eos> counted and padding not;
source_tokens_per_s, and the share of rows that are padding."""
import argparse, contextlib, json, math, os, statistics, time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument('--pairs', required=True, help='file of lengths')
p.add_argument('--d', type=int, default=128)
p.add_argument('--ffn', type=int, default=256)
p.add_argument('--heads', type=int, default=4)
p.add_argument('--layers', type=int, default=4, help='of the encoder, and of the decoder')
p.add_argument('--vocab', type=int, default=9710)
p.add_argument('--norm', choices=['pre', 'post'], default='pre')
p.add_argument('--dropout', type=float, default=0.1)
p.add_argument('--smoothing', type=float, default=0.1)
p.add_argument('--steps', type=int, default=8)
p.add_argument('--warmup', type=int, default=2)
p.add_argument('--threads', type=int, default=2)
p.add_argument('--device', default='cpu')
p.add_argument('--tf32', action='store_true', help='products in tf32')
p.add_argument('--bf16', action='store_true', help='autocast to bf16, weights in f32')
p.add_argument('--fused', action='store_true', help="Adam's fused kernel (torch >= 2)")
p.add_argument('--sdpa', action='store_true', help='changes nothing: nn.Transformer has it')
p.add_argument('--compile', action='store_true', help='torch.compile (torch >= 2)')
a = p.parse_args()
os.environ.setdefault('OMP_NUM_THREADS', str(a.threads))
import torch
import torch.nn as nn

torch.set_num_threads(a.threads)
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = a.tf32
device = torch.device(a.device)
EOS, PAD, FIRST = 0, 1, 2


class Translator(nn.Module):
    def __init__(self, longest):
        super().__init__()
        self.embedding = nn.Embedding(a.vocab, a.d, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=a.d ** -0.5)
        self.transformer = nn.Transformer(a.d, a.heads, a.layers, a.layers, a.ffn, a.dropout, batch_first=True,
                                          norm_first=a.norm == 'pre')
        self.dropout = nn.Dropout(a.dropout)
        place = torch.arange(longest).float()[:, None]
        rate = torch.exp(torch.arange(0, a.d, 2).float() * (-math.log(10000.0) / a.d))
        sinusoid = torch.zeros(longest, a.d)
        sinusoid[:, 0::2], sinusoid[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer('sinusoid', sinusoid)
        self.register_buffer('later', torch.full((longest, longest), float('-inf')).triu(1))

    def embed(self, x):
        return self.dropout(self.embedding(x) * math.sqrt(a.d) + self.sinusoid[:x.shape[1]])

    def forward(self, source, target):
        n = target.shape[1]
        padding = source == PAD
        y = self.transformer(self.embed(source), self.embed(target), tgt_mask=self.later[:n, :n],
                             src_key_padding_mask=padding, tgt_key_padding_mask=target == PAD,
                             memory_key_padding_mask=padding)
        return y @ self.embedding.weight.t()


def sentences(lengths):
    """(sentences, longest) random words, <eos> at the end, then padding."""
    x = torch.full((len(lengths), max(lengths)), PAD)
    for row, n in zip(x, lengths):
        # words come with probability about 1 / (1 + rank)
        row[:n - 1] = FIRST + (float(a.vocab - FIRST) ** torch.rand(n - 1)).long() - 1
        row[n - 1] = EOS
    return x


lengths = {}
for line in open(a.pairs):
    batch, source, target = map(int, line.split())
    lengths.setdefault(batch, []).append((source, target))
batches = []
for pairs in lengths.values():
    source, target = sentences([s for s, t in pairs]), sentences([t for s, t in pairs])
    shifted = torch.full_like(target, PAD)
    shifted[:, 0] = EOS
    shifted[:, 1:] = target[:, :-1].masked_fill(target[:, 1:] == PAD, PAD)
    batches.append((source.to(device), shifted.to(device), target.to(device)))

model = Translator(max(max(s, t) for pairs in lengths.values() for s, t in pairs)).to(device).train()
network = torch.compile(model) if a.compile else model
loss_of = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=a.smoothing)
adam = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, **({'fused': True} if a.fused else {'foreach': True}))
cast = torch.autocast(device.type, torch.bfloat16) if a.bf16 else contextlib.nullcontext()
wait = torch.cuda.synchronize if device.type == 'cuda' else lambda: None


def step(i):
    source, shifted, target = batches[i % len(batches)]
    adam.zero_grad(set_to_none=True)
    with cast:
        loss = loss_of(network(source, shifted).view(-1, a.vocab), target.view(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    return loss


first = [float(step(i)) for i in range(a.warmup)]
speed, source_speed, rows = [], [], [0, 0]
for i in range(a.warmup, a.warmup + a.steps):
    wait()
    start = time.perf_counter()
    last = step(i)
    wait()
    seconds = time.perf_counter() - start
    source, _, target = batches[i % len(batches)]
    tokens = [int((x != PAD).sum()) for x in (source, target)]
    source_speed.append(tokens[0] / seconds)
    speed.append(tokens[1] / seconds)
    rows[0] += sum(tokens)
    rows[1] += source.numel() + target.numel()
print(json.dumps(dict(torch=torch.__version__, device=a.device, threads=a.threads, norm=a.norm, d=a.d, ffn=a.ffn, heads=a.heads,
                      layers=a.layers, vocab=a.vocab, steps=a.steps, parameters=sum(x.numel() for x in model.parameters()),
                      tokens_per_s=round(statistics.median(speed), 1), tokens_per_s_least=round(min(speed), 1),
                      tokens_per_s_most=round(max(speed), 1), source_tokens_per_s=round(statistics.median(source_speed), 1),
                      padding=round(1 - rows[0] / rows[1], 4), loss=[round(x, 3) for x in first + [float(last)]])))
