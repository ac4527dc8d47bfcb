#!/bin/sh
# gpu.sh: everything that takes a GPU, in one run: builds, tests, measures, writes CSV.
#
#   sh studies/scripts/gpu.sh [--out DIR] [--peer FILE] [--corpus DIR] [--skip PART,...] [--only PART,...]
#                     [--limit SECONDS]
#
#   build      make, where nvcc is; else the binaries that are there are used
#   tests      the kernels', backends', models' and devices' tests on the device
#   sanitizer  compute-sanitizer memcheck and racecheck on the kernels' tests, where it is installed
#   agree      cpu-f32 and cuda-f32, 200 steps of the same run: loss curves
#   bench      bench train for f32, tf32, bf16, beside the peer
#   large      bench train at d 1024, 12 layers
#   gpus       the same steps by 1, 2, 4, ... GPUs under mpirun, as many as there are; nothing where there is one
#   ten        the ten models of the ODE Transformer's table 5 (needs --corpus: the Penn Treebank), timed
#
# Every part has a time limit (600 s each, --limit changes it) and may fail without stopping the others;
# DIR (out/gpu) gets PART.log, the CSV, and about.txt with device, driver, date and commands. The exit
# status is the number of parts that failed. Nothing is measured where there is no device: exit 2.
set -u
cd "$(dirname "$0")/../.." || exit 2
out=out/gpu peer= corpus= skip= only= limit=600
while [ $# -gt 0 ]; do
    case $1 in
    --out | --peer | --corpus | --skip | --only | --limit)
        [ $# -gt 1 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
        eval "${1#--}=\$2"
        shift 2 ;;
    *)
        echo "gpu.sh: $1: no such option (see the head of the script)" >&2
        exit 2 ;;
    esac
done
mkdir -p "$out" || exit 2
trotter=build/trotter
failed=0
export OMP_WAIT_POLICY=passive

about() {
    echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "commit: $(git rev-parse HEAD 2>/dev/null || echo unknown)"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader | sed 's/^/device: /'
    echo "toolkit: $(nvcc --version 2>/dev/null | sed -n 's/.*release //p')"
    echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
    echo "torch: $("${PYTHON:-/usr/bin/python3}" -c 'import torch; print(torch.__version__, torch.version.cuda)' 2>/dev/null || echo none)"
}

wanted() {
    case ,$skip, in *",$1,"*) return 1 ;; esac
    case ,$only, in ,, | *",$1,"*) return 0 ;; esac
    return 1
}

# part NAME COMMAND...: runs it with the limit, output to NAME.log; says how it ended.
part() {
    name=$1
    shift
    wanted "$name" || return 0
    echo "command ($name): $*" >>"$out/about.txt"
    start=$(date +%s)
    timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1
    status=$?
    [ $status -eq 124 ] && echo "stopped after $limit s" >>"$out/$name.log"
    [ $status -eq 0 ] || failed=$((failed + 1))
    echo "$name: status $status, $(($(date +%s) - start)) s" | tee -a "$out/about.txt"
    [ $status -eq 0 ] || tail -5 "$out/$name.log" | sed 's/^/    /'
}

# ---- parts that are more than one command --------------------------------------------------------
device_tests="test_kernels test_backend test_device test_model test_store_model test_train test_gpus"

tests() {
    bad=0
    for t in $device_tests; do
        [ -x "build/release/tests/$t" ] || { echo "$t: not built"; bad=1; continue; }
        echo "== $t"
        "build/release/tests/$t" || bad=1
    done 2>&1 | tee "$out/tests.tmp"
    grep -q 'not built\|FAILED\|skipped: cuda' "$out/tests.tmp" && bad=1 # nothing may be passed over here
    rm -f "$out/tests.tmp"
    return $bad
}

sanitizer() {
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    [ -n "$tool" ] || { echo "compute-sanitizer is not installed: skipped"; return 0; }
    bad=0
    for check in memcheck racecheck; do
        for t in test_kernels test_device; do
            echo "== $check $t"
            "$tool" --tool "$check" --error-exitcode 9 "build/release/tests/$t" || bad=1
        done
    done
    return $bad
}

# Loss curves of the same 200 steps, and the largest relative difference of a row.
agree() {
    common="--scheme transformer --corpus kjv --vocabulary 4000 --layers 2 --width 128 --inner 512
            --heads 4 --batch-tokens 2048 --max-steps 200 --epochs 1000 --seed 1"
    $trotter train $common --device cpu --out "$out/agree-cpu" || return 1
    $trotter train $common --device cuda --out "$out/agree-cuda" || return 1
    paste -d, "$out/agree-cpu/log.csv" "$out/agree-cuda/log.csv" | awk -F, '
        NR == 1 { for (i = 1; i <= NF / 2; i++) if ($i == "train_loss") c = i; half = NF / 2
                  print "step,cpu,cuda,relative"; next }
        { d = ($(c + half) - $c) / $c; if (d < 0) d = -d; if (d > most) most = d; n++
          print $1 "," $c "," $(c + half) "," d }
        END { printf "largest relative difference of %d rows: %g\n", n, most >"/dev/stderr"
              exit !(n > 0 && most <= 1e-3) }' >"$out/agree.csv"
}

bench() {
    bad=0
    for precision in f32 tf32 bf16; do
        $trotter bench train --device cuda --precision $precision --budget 30 --csv \
            ${peer:+--peer "$peer"} >"$out/bench-train-$precision.csv" || bad=1
        cat "$out/bench-train-$precision.csv"
    done
    return $bad
}

large() {
    bad=0
    for precision in tf32 bf16; do
        $trotter bench train --device cuda --precision $precision --width 1024 --scheme transformer \
            --budget 30 --csv >"$out/bench-large-$precision.csv" || bad=1
        cat "$out/bench-large-$precision.csv"
    done
    return $bad
}

# Tokens a second of the same batches, and a step's time and what of it the first rank waits for sums.
gpus() {
    count=$(nvidia-smi -L | wc -l)
    [ "$count" -gt 1 ] || { echo "$count GPU: skipped"; return 0; }
    command -v mpirun || { echo "no mpirun: skipped"; return 0; }
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
    bad=0 n=1
    echo "gpus,tokens_per_s,bytes_per_step,wait_ms_per_step,ms_per_step" >"$out/gpus.csv"
    while [ "$n" -le "$count" ]; do
        mpirun -n $n $trotter train --scheme transformer --corpus kjv --vocabulary 10000 --layers 6 --width 512 \
            --inner 2048 --heads 8 --sequence 64 --batch-tokens 16384 --max-steps 200 --epochs 1000 --seed 1 \
            --untested --device cuda --precision "${PRECISION:-tf32}" --out "$out/gpus-$n" || bad=1
        rm -f "$out/gpus-$n/"*.safetensors
        sums=$(sed -n 2p "$out/gpus-$n/ranks.csv" 2>/dev/null | cut -d, -f3-)
        echo "$n,$(sed -n 2p "$out/gpus-$n/result.csv" | cut -d, -f8),${sums:-,,}" >>"$out/gpus.csv"
        n=$((2 * n))
    done
    cat "$out/gpus.csv"
    return $bad
}

# One and two layers of five blocks, 20 epochs, the best validation epoch kept; PRECISION is set outside.
ten() {
    [ -n "$corpus" ] || { echo "no --corpus: skipped"; return 0; }
    bad=0
    start=$(date +%s)
    echo "scheme,layers,seconds" >"$out/ten-times.csv"
    for layers in 1 2; do
        for scheme in transformer heun-layer rk2-unit rk2-gate rk4-layer; do
            before=$(date +%s)
            $trotter train --scheme $scheme --corpus "$corpus" --layers $layers --width 512 --inner 2048 \
                --heads 8 --context sentence --sequence 128 --batch-tokens 4096 --dropout 0.1 --beta2 0.997 \
                --rate 7e-4 --warmup 2000 --epochs 20 --device cuda --precision "${PRECISION:-tf32}" \
                --out "$out/ten/$scheme-$layers" || bad=1
            echo "$scheme,$layers,$(($(date +%s) - before))" >>"$out/ten-times.csv"
        done
    done
    echo "all ten: $(($(date +%s) - start)) s"
    for d in "$out"/ten/*; do sed -n 2p "$d/result.csv"; done
    return $bad
}

# ---- the run -------------------------------------------------------------------------------------
# Called again by itself for one part, so that a limit can end it.
case ${GPU_SH_PART:-} in
'') ;;
*) "$GPU_SH_PART"; exit $? ;;
esac

command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi >/dev/null 2>&1 || {
    echo "gpu.sh: no NVIDIA device here: nothing is measured" >&2
    exit 2
}
about >"$out/about.txt"
cat "$out/about.txt"
if command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; then
    part build make -j"$(nproc)" build/trotter tests
fi
[ -x $trotter ] || { echo "gpu.sh: $trotter is not there" >&2; exit 2; }
again() { part "$1" env GPU_SH_PART="$1" sh studies/scripts/gpu.sh --out "$out" --peer "$peer" --corpus "$corpus"; }
for p in tests sanitizer agree bench large gpus ten; do again $p; done
echo "$failed parts failed; results in $out"
exit $failed
