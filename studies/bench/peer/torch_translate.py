#!/usr/bin/env python3
"""torch_translate.py: how fast PyTorch translates with a cache of keys and values: a peer of `trotter bench translate`.

An encoder (nn.TransformerEncoder, in the form that runs fused where torch has one) and a decoder written by hand for one token
at a time: its self-attention keeps keys and values of older tokens, which follow their hypotheses by index_select; keys
and values of the source are made once a sentence, and its hypotheses share them. Pre-norm. Beam search goes over all
sentences of a batch together. Of a row only the best tokens and the logarithm of its softmax's sum are made, no other log p.
Weights and sources are random. A source has --length tokens and <eos>, an output exactly as many and <eos>: the work does
not depend on what is found.

The last line is JSON: sentences_per_s, the median over --steps translations of the same batch."""
import argparse, json, math, os, statistics, time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument('--d', type=int, default=128)
p.add_argument('--ffn', type=int, default=256)
p.add_argument('--heads', type=int, default=4)
p.add_argument('--layers', type=int, default=4, help='of the encoder, and of the decoder')
p.add_argument('--vocab', type=int, default=9710)
p.add_argument('--beam', type=int, default=5)
p.add_argument('--length', type=int, default=14)
p.add_argument('--sentences', type=int, default=64)
p.add_argument('--steps', type=int, default=3)
p.add_argument('--warmup', type=int, default=1)
p.add_argument('--threads', type=int, default=2)
p.add_argument('--device', default='cpu')
p.add_argument('--tf32', action='store_true', help='products in tf32')
p.add_argument('--bf16', action='store_true', help='weights, caches and products in bf16; sums of log p in f32')
p.add_argument('--check', action='store_true', help='compare log p of the outputs with that of whole passes')
a = p.parse_args()
os.environ.setdefault('OMP_NUM_THREADS', str(a.threads))
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(a.threads)
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = a.tf32
device, kind = torch.device(a.device), torch.bfloat16 if a.bf16 else torch.float32
EOS, B, K, H, E = 0, a.sentences, a.beam, a.heads, a.d // a.heads


def sinusoids(longest):
    place = torch.arange(longest).float()[:, None]
    rate = torch.exp(torch.arange(0, a.d, 2).float() * (-math.log(10000.0) / a.d))
    x = torch.zeros(longest, a.d)
    x[:, 0::2], x[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
    return x


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.ModuleList(nn.LayerNorm(a.d) for _ in range(3))
        self.qkv, self.out = nn.Linear(a.d, 3 * a.d), nn.Linear(a.d, a.d)
        self.cross_q, self.cross_kv, self.cross_out = nn.Linear(a.d, a.d), nn.Linear(a.d, 2 * a.d), nn.Linear(a.d, a.d)
        self.up, self.down = nn.Linear(a.d, a.ffn), nn.Linear(a.ffn, a.d)

    def memory(self, m):
        """Keys (B, H, E, S) and values (B, H, S, E) of the sources m (B, S, d)."""
        k, v = self.cross_kv(m).view(B, m.shape[1], 2, H, E).permute(2, 0, 3, 1, 4)
        return k.transpose(-1, -2).contiguous(), v.contiguous()

    def forward(self, y, cache, memory, t):
        """y (R, d): a token of each of R = B k hypotheses, at place t; cache (R, 2, H, T, E) gets its keys and values."""
        R = y.shape[0]
        q, k, v = self.qkv(self.norm[0](y)).view(R, 3, H, E).unbind(1)
        cache[:, 0, :, t], cache[:, 1, :, t] = k, v
        w = torch.softmax((cache[:, 0, :, :t + 1] @ q[..., None]).squeeze(-1) / math.sqrt(E), -1)
        y = y + self.out((w[:, :, None] @ cache[:, 1, :, :t + 1]).reshape(R, a.d))
        q = self.cross_q(self.norm[1](y)).view(B, R // B, H, E).transpose(1, 2)
        z = torch.softmax(q @ memory[0] / math.sqrt(E), -1) @ memory[1]
        y = y + self.cross_out(z.transpose(1, 2).reshape(R, a.d))
        return y + self.down(F.relu(self.up(self.norm[2](y))))

    def whole(self, y, m):
        """All tokens of y (N, T, d) at once, by the definition: for --check."""
        N, T, _ = y.shape
        q, k, v = self.qkv(self.norm[0](y)).view(N, T, 3, H, E).permute(2, 0, 3, 1, 4)
        w = q @ k.transpose(-1, -2) / math.sqrt(E) + torch.full((T, T), float('-inf')).triu(1)
        y = y + self.out((torch.softmax(w, -1) @ v).transpose(1, 2).reshape(N, T, a.d))
        q = self.cross_q(self.norm[1](y)).view(N, T, H, E).transpose(1, 2)
        k, v = self.cross_kv(m).view(N, m.shape[1], 2, H, E).permute(2, 0, 3, 1, 4)
        z = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(E), -1) @ v
        y = y + self.cross_out(z.transpose(1, 2).reshape(N, T, a.d))
        return y + self.down(F.relu(self.up(self.norm[2](y))))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(a.vocab, a.d)
        nn.init.normal_(self.embedding.weight, std=a.d ** -0.5)
        layer = nn.TransformerEncoderLayer(a.d, a.heads, a.ffn, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, a.layers, nn.LayerNorm(a.d))
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.d)
        self.register_buffer('sinusoid', sinusoids(a.length + 1))

    def embed(self, x, place):
        return self.embedding(x) * math.sqrt(a.d) + self.sinusoid[place]

    def encode(self, source):
        return self.encoder(self.embed(source, slice(0, source.shape[1])))

    def step(self, token, caches, memories, t):
        y = self.embed(token, t)
        for layer, cache, memory in zip(self.layers, caches, memories):
            y = layer(y, cache, memory, t)
        return self.norm(y) @ self.embedding.weight.t()

    def whole(self, token, source):
        y, m = self.embed(token, slice(0, token.shape[1])), self.encode(source)
        for layer in self.layers:
            y = layer.whole(y, m)
        return self.norm(y) @ self.embedding.weight.t()


def search(model, source):
    """Best outputs (B, length), without <eos>, and their sums of log p (B)."""
    encoded = model.encode(source)
    memories = [layer.memory(encoded) for layer in model.layers]
    T, k = a.length + 1, 1
    caches = [torch.empty(B, 2, H, T, E, device=device, dtype=kind) for _ in model.layers]
    token = torch.full((B,), EOS, device=device)
    text = torch.empty(B, 0, dtype=torch.long, device=device)
    total = torch.zeros(B, 1, device=device)
    for t in range(a.length):
        logits = model.step(token, caches, memories, t).float()
        logsum = logits.logsumexp(-1, keepdim=True)
        logits[:, EOS] = float('-inf')
        best, index = logits.topk(K, -1)
        score = total.view(-1, 1) + best - logsum  # (B k, K)
        total, chosen = score.view(B, k * K).topk(K, -1)
        parent = (chosen // K + torch.arange(B, device=device)[:, None] * k).view(-1)
        token = index.view(B, k * K).gather(1, chosen).view(-1)
        text = torch.cat([text.index_select(0, parent), token[:, None]], 1)
        if K > 1:
            for i, cache in enumerate(caches):
                moved = torch.empty(B * K, 2, H, T, E, device=device, dtype=kind)
                moved[:, :, :, :t + 1] = cache[:, :, :, :t + 1].index_select(0, parent)
                caches[i] = moved
        k = K
    logits = model.step(token, caches, memories, a.length).float()
    total = total + (logits[:, EOS] - logits.logsumexp(-1)).view(B, K)
    total, best = total.max(-1)
    return text.view(B, K, -1)[torch.arange(B), best], total


model = Translator().to(device, kind).eval()
source = torch.randint(1, a.vocab, (B, a.length + 1), device=device)
source[:, -1] = EOS
wait = torch.cuda.synchronize if device.type == 'cuda' else lambda: None
speed = []
with torch.inference_mode():
    for i in range(a.warmup + a.steps):
        wait()
        start = time.perf_counter()
        text, total = search(model, source)
        wait()
        if i >= a.warmup:
            speed.append(B / (time.perf_counter() - start))
    if a.check:
        eos = torch.full((B, 1), EOS)
        log_p = model.whole(torch.cat([eos, text], 1), source).log_softmax(-1)
        again = log_p.gather(2, torch.cat([text, eos], 1)[..., None]).sum((1, 2))
        assert torch.allclose(again, total, rtol=1e-4), (again - total).abs().max()
print(json.dumps(dict(torch=torch.__version__, device=a.device, threads=a.threads, d=a.d, ffn=a.ffn, heads=a.heads,
                      layers=a.layers, vocab=a.vocab, beam=K, length=a.length, sentences=B, steps=a.steps,
                      sentences_per_s=round(statistics.median(speed), 3), least=round(min(speed), 3),
                      most=round(max(speed), 3))))
