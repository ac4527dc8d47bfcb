# scaling.awk: computes how training by ranks scales, by an alpha-beta model. `awk -f studies/scripts/scaling.awk` prints the
# tables of scaling.md; -v peak=... and any other name below changes a constant.
#
#   computing   T(p) = rows(p) F / (peak use),  F = 6 (sum over layers of evaluations x numbers read, + V d) operations a token
#               (2 forward, 4 backward for each number of a matrix: Kaplan et al. 2020, section 2.1)
#   summing     S = 4 numbers bytes: within a machine of g devices a ring, 2 (g-1) a + 2 (g-1)/g S b; between n = p/g machines
#               rings of S/g each with latency of a tree, 2 log2(n) A + 2 (n-1)/n S/g B
#               (Thakur, Rabenseifner, Gropp 2005, section 4; Jeaugey 2019 for trees)
#   efficiency  T / (T + the part of the sum that stands alone): all of it, or (hidden) the part beyond the two thirds of T
#               that go back through the network, and at least the embedding's part, whose gradient is ready last
BEGIN {
    g = g ? g : 8                           # devices of a machine (DGX H100)
    peak = peak ? peak : 989e12             # operations/s, bf16 dense (H100 SXM, NVIDIA's data sheet)
    use = use ? use : 0.4                   # share of peak; assumed
    link = link ? link : 450e9              # bytes/s each way, NVLink 4: 900e9 both ways (the same)
    net = net ? net : 50e9                  # bytes/s of a device, 400 Gb/s InfiniBand NDR (ConnectX-7)
    a = a ? a : 3e-6                        # s a message within a machine; assumed
    A = A ? A : 8e-6                        # s a message between machines; assumed
    model("PTB, 1 layer", 512, 2048, 10000, 1, 1, 4096)
    model("PTB, 2 layers, RK4", 512, 2048, 10000, 2, 4, 4096)
    model("WMT base, RK4", 512, 2048, 37000, 12, 4, 25000)
    model("WMT big, RK4", 1024, 4096, 37000, 12, 4, 25000)
}
function log2(x) { return log(x) / log(2) }
function sum_time(S, p,    n, t) {
    n = p > g ? p / g : 1
    t = p > 1 ? 2 * ((p < g ? p : g) - 1) * (a + S / (p < g ? p : g) / link) : 0
    if (n > 1) t += 2 * log2(n) * A + 2 * (n - 1) / n * S / g / net
    return t
}
# tokens: those of a step, in all (strong) or on each device (weak, 4096)
function table(P, E, F, tokens, strong,    p, rows, T, C, S, back, alone, first) {
    S = 4 * P
    for (p = 1; p <= 1024; p *= 2) {
        rows = strong ? tokens / p : 4096
        T = rows * F / (peak * use)
        C = sum_time(S, p)
        back = C - 2 / 3 * T
        alone = C * E / P
        alone = back > alone ? back : alone
        if (p > 1 && C > T && !first) first = p
        if (p == 1 || p == 8 || p == 64 || p == 1024)
            printf "| %s | %d | %.3f | %.3f | %.2f | %.2f |\n", strong ? "strong" : "weak", p, 1e3 * T, 1e3 * C, T / (T + C),
                   T / (T + (p > 1 ? alone : 0))
    }
    return first
}
function model(name, d, M, V, layers, evals, tokens,    L, P, E, F, strong, weak) {
    L = layers * (4 * d * d + 2 * d * M)
    E = V * d
    P = L + E
    F = 6 * (evals * L + E)
    printf "\n%s: %.1f million numbers, %.0f million operations a token, %d tokens a step (strong), 4096 a device (weak)\n\n",
           name, P / 1e6, F / 1e6, tokens
    print "| | devices | computing, ms | summing, ms | efficiency | hidden |"
    print "|---|--:|--:|--:|--:|--:|"
    strong = table(P, E, F, tokens, 1)
    weak = table(P, E, F, tokens, 0)
    printf "\nsumming takes longer than computing from %s devices (strong), %s (weak)\n", strong ? strong : "no number of",
           weak ? weak : "no number of"
}
