# goals.awk: what is to be reached beside PyTorch on a GPU, row by row, and whether recorded figures of trotter bench train, pairs
# and translate (CSV files) reach it. Without files it lists the rows. gpu.sh runs their commands.
#
#   awk -f studies/scripts/goals.awk [FILE.csv]...
#
# own and peer are tokens or sentences a second, peer PyTorch's in its fastest way. met is empty where a row is not measured.
# The last file that has a row counts. Exit status 1: files are given, and a goal is not reached or not measured.
function row(command, what, variant, speed, bf16, tf32) { # %: the backend
    n++
    C[n] = command; W[n] = what; V[n] = variant; S[n] = speed
    G[n, "bf16"] = bf16; G[n, "tf32"] = tf32
}
BEGIN {
    FS = ","
    row("train --width 512 --scheme transformer", "train.%.512", "transformer", "tokens_per_s", 1.5, 1.3)
    row("train --width 128 --scheme transformer", "train.%.128", "transformer", "tokens_per_s", 1.5, 1.3)
    row("train --width 6x512 --scheme transformer", "train.%.6x512", "transformer", "tokens_per_s", 1.5, 1.3)
    row("train --width 512 --scheme rk4-layer", "train.%.512", "rk4-layer", "tokens_per_s", 1.5, 1.3)
    row("pairs --size 128 --stacks transformer/transformer", "pairs.%.128", "transformer/transformer", "tokens_per_s", 1.5, 1.3)
    row("translate --size 128 --sentences 64", "translate.%.128.base", "64", "sentences_per_s", 2, 2)
    for (i = 1; i <= n; i++)
        for (p = 1; p <= 2; p++) {
            at = W[i]
            sub("%", "cuda-" (p == 1 ? "bf16" : "tf32"), at)
            prefix[i, p] = at "."
        }
}
# what,variant,value,unit; behind the prefix: SPEED, or peer.WAY
FNR > 1 {
    for (i = 1; i <= n; i++)
        for (p = 1; p <= 2; p++) {
            if ($2 != V[i] || index($1, prefix[i, p]) != 1) continue
            rest = substr($1, length(prefix[i, p]) + 1)
            if (rest == S[i]) { own[i, p] = $3; peer[i, p] = way[i, p] = "" }
            if (rest !~ /^peer\.[^.]*$/ || $3 + 0 <= peer[i, p] + 0) continue
            peer[i, p] = $3; way[i, p] = substr(rest, 6)
        }
}
END {
    print "command,own,peer,way,ratio,goal,met"
    for (p = 1; p <= 2; p++)
        for (i = 1; i <= n; i++) {
            name = p == 1 ? "bf16" : "tf32"
            there = own[i, p] != "" && peer[i, p] != ""
            ratio = there ? own[i, p] / peer[i, p] : ""
            met = !there ? "" : ratio >= G[i, name] ? "yes" : "no"
            missed += met != "yes"
            print C[i] " --precision " name "," own[i, p] "," peer[i, p] "," way[i, p] "," ratio "," G[i, name] "," met
        }
    exit ARGC > 1 && missed > 0
}
