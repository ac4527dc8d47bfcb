#!/bin/sh
# pairs_speed.sh: measures how fast an encoder and a decoder train and translate here, beside PyTorch: `bench pairs` and
# `bench translate` with their peers.
#
#   sh studies/scripts/pairs_speed.sh [--out DIR] [--budget SECONDS] [--only pairs,translate] [--without-peer]
#
# DIR (studies/results/translation/speed) gets bench-pairs.csv and .md, bench-translate.csv and .md, commands.csv and about.txt:
# date, commit, processor, PyTorch, and the load before and after. SECONDS (60) is the time a row may take after its first
# three rounds. The script needs build/trotter, and for the peers Debian's python3-torch. Figures are void where the machine
# does other work: a load above 0.5 at the start gives a warning. It takes half an hour to an hour on two cores. The exit
# status is the number of benches that failed.
set -u
. "$(dirname "$0")/shared.sh"
cd "$(dirname "$0")/../.." || exit 2
out=studies/results/translation/speed budget=60 only=pairs,translate peers=1
while [ $# -gt 0 ]; do
    case $1 in
    --without-peer)
        peers=0
        shift ;;
    *) take_option "--out --budget --only" "$@" && shift 2 ;;
    esac
done
trotter=${TROTTER:-build/trotter}
python=${PYTHON:-/usr/bin/python3}
[ -x "$trotter" ] || refuse "$trotter is not there: make"
if [ $peers = 1 ] && ! "$python" -c 'import torch' 2>/dev/null; then
    refuse "$python has no torch: apt-get install python3-torch, or --without-peer"
fi
mkdir -p "$out" || exit 2
load() { cut -d' ' -f1-3 /proc/loadavg; }

{
    echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "commit: $(git rev-parse HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', with changes')"
    echo "program: $("$trotter" --version 2>/dev/null | head -1)"
    echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
    echo "system: $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), $(uname -m)"
    [ $peers = 0 ] || echo "torch: $("$python" -c 'import torch; print(torch.__version__)')"
    echo "load before: $(load)"
} >"$out/about.txt"
cat "$out/about.txt"
awk '$1 > 0.5 { exit 1 }' /proc/loadavg || echo "pairs_speed.sh: the machine does other work: figures are void" >&2

failed=0
for bench in pairs translate; do
    case ,$only, in *",$bench,"*) ;; *) continue ;; esac
    set -- bench $bench --budget "$budget" --out "$out"
    [ $peers = 0 ] || set -- "$@" --peer "studies/bench/peer/torch_$bench.py"
    echo "command: trotter $*" | tee -a "$out/about.txt"
    "$trotter" "$@" || failed=$((failed + 1))
done
echo "load after: $(load)" >>"$out/about.txt"
exit $failed
