#!/bin/sh
# gpu.sh: does everything that takes a GPU: tests, measures, writes CSV. It runs in a source tree or in a bundle (make bundle).
#
#   sh studies/scripts/gpu.sh [WORD]... [--out DIR] [--peer DIR] [--corpus DIR] [--glue DIR] [--build DIR] [--limit SECONDS] [--before DIR]
#
# Each word is a command that is useful by itself, writes as it goes and ends within 9 minutes (study: an hour); what is
# stopped goes on with the same command. Without a word: first, speed, tools.
#
#   first        smoke      five steps of training on the device
#                tests      the kernels', backends', models' and devices' tests on the device
#                served     what the stand-in for CUDA cannot see, by training at d 512 and 128: served.csv has cuBLASLt's choice for
#                           each shape, and fails where parts along k are added in the result's type; graphs.csv has the
#                           memory that each recorded step takes, and fails where a graph takes more than 64 MiB
#   speed        speed_bf16 six networks in bf16, ours and PyTorch's two fastest ways, by the scripts in --peer's DIR
#                           (studies/bench/peer)
#                launches   bench train --launches: the time of each kernel and product, d 512, d 128, 6 layers
#   speed-tf32   speed_tf32 the same rows in tf32
#   moonshot, translation, depth, sandwich, masked
#                           planned.sh: the planned studies, by four processes; masked needs --glue, all others --corpus
#   ledger       ledger     what a change saves: a step's time by --before's DIR, a bundle of
#                           the commit before it, and by this one, in turns, d 512 and 128
#   tools        sanitizer  compute-sanitizer's memcheck and racecheck on the kernels' tests
#                profile    ncu on one step of training
#   processor    cpu_f32, cpu_bf16
#                           bench train on this machine's cores beside PyTorch
#   study        study      tables.sh --full: the papers' tables at their size (needs --corpus: the Penn Treebank). STUDY holds its
#                           other options; by default the ten models of table 5 of the ODE Transformer, one and
#                           two layers, in five processes, so that some save while others step. Its last line has the
#                           seconds that they took
#   measure      agree      cpu-f32 and cuda-f32, 200 steps of the same run: loss curves
#                bench      bench train in bf16, tf32, f32, without a peer
#                large      bench train at d 1024, 12 layers
#                gpus       the same steps by 1, 2, 4, ... GPUs under mpirun; nothing where there is one GPU
#
# Every part has a time limit (the table below; --limit changes all) and may fail without stopping the others; a test that is
# missing, cannot start or is skipped counts as failed. Parts write their results as they go: DIR (out/gpu) gets PART.log,
# the CSV, and about.txt with device, driver, date and commands. The exit status is 1 if some part failed, 2 where nothing can
# be measured: no device, or no program.
set -u
cd "$(dirname "$0")/../.." || exit 2
out=out/gpu peer=studies/bench/peer corpus= glue= build=build limit= before= words=
while [ $# -gt 0 ]; do
    case $1 in
    --out | --peer | --corpus | --glue | --build | --limit | --before)
        [ $# -gt 1 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
        eval "${1#--}=\$2"
        shift ;;
    *) words="$words $1" ;;
    esac
    shift
done
mkdir -p "$out" || exit 2
trotter=$build/release/trotter
failed=
export OMP_WAIT_POLICY=passive
# Uses the libraries of a bundle.
[ ! -d lib ] || export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
PYTHON=${PYTHON:-python3}
export PYTHON

# word, part, seconds, and the function, which gets the part's name, where it has another name
parts='
first       smoke        30
first       tests       180
first       served       60
speed       speed_bf16  430 beside
speed       launches    100
speed-tf32  speed_tf32  530 beside
moonshot    moonshot    530 planned
translation translation 530 planned
depth       depth       530 planned
sandwich    sandwich    530 planned
masked      masked      530 planned
ledger      ledger      120
tools       sanitizer   370
tools       profile     160
processor   cpu_f32     260 processor
processor   cpu_bf16    260 processor
measure     agree        60
measure     bench       180
measure     large        60
measure     gpus         60
study       study      3600'

for word in $words; do
    echo "$parts" | grep -q "^$word " && continue
    echo "gpu.sh: $word: expected $(echo "$parts" | awk 'NF && !seen[$1]++ { printf "%s%s", n++ ? ", " : "", $1 }') or an option (see the head of the script)" >&2
    exit 2
done

about() {
    echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "commit: $(cat COMMIT 2>/dev/null || git rev-parse HEAD 2>/dev/null || echo unknown)"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader | sed 's/^/device: /'
    echo "toolkit: $(nvcc --version 2>/dev/null | sed -n 's/.*release //p')"
    echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
    echo "torch: $("$PYTHON" -c 'import torch; print(torch.__version__, torch.version.cuda)' 2>/dev/null || echo none)"
}

# part NAME SECONDS: runs the function NAME within its limit by calling this script again; says how it ended.
part() {
    start=$(date +%s)
    GPU_SH_PART=$1 timeout -k 10 "${limit:-$2}" sh studies/scripts/gpu.sh --out "$out" --peer "$peer" --corpus "$corpus" \
        --glue "$glue" --build "$build" --before "$before" >"$out/$1.log" 2>&1
    status=$?
    [ $status -ne 124 ] || echo "stopped after ${limit:-$2} s" >>"$out/$1.log"
    [ $status -eq 0 ] || failed="$failed $1"
    echo "$1: status $status, $(($(date +%s) - start)) s" | tee -a "$out/about.txt"
    [ $status -eq 0 ] || tail -5 "$out/$1.log" | sed 's/^/    /'
}

# ---- parts ---------------------------------------------------------------------------------------
run() {
    echo "\$ $*" >&2
    "$@"
}

smoke() {
    run "$trotter" train --corpus kjv --width 32 --inner 64 --heads 2 --max-steps 5 --eval-tokens 2000 --device cuda \
        --out "$out/smoke"
}

# `make bundle` reads this line.
device_tests='kernels/test_kernels kernels/test_decode_kernels kernels/test_attention_kernels kernels/test_backend bridge/test_device nn/test_model nn/test_store_model nn/test_train nn/test_twin commands/test_gpus'

# run.sh counts a program that dies, or is not there, as failed. Here a skipped test has failed too, unless it needs several
# GPUs.
tests() {
    bad=0
    for t in $device_tests; do
        sh tests/scripts/run.sh "$build/release" "$build/release/tests/$t" >"$out/test.tmp" 2>&1 || bad=1
        cat "$out/test.tmp"
        [ "$t" = commands/test_gpus ] || grep -q ' 0 skipped$' "$out/test.tmp" || bad=1
    done
    rm -f "$out/test.tmp"
    return $bad
}

# Trains each width with early launches and without: their logs must be the same to the last digit, but for speed.
served() {
    bad=0
    for shape in 512:8 128:4; do
        width=${shape%:*}
        for late in '' 1; do
            run="$out/served-$width$late"
            rm -rf "$run"
            TROTTER_CUDA_TELL=1 ${late:+env TROTTER_CUDA_LATE=1} "$trotter" train --scheme transformer --corpus kjv \
                --vocabulary 10000 --width "$width" --inner $((4 * width)) --heads "${shape#*:}" --sequence 64 --batch-tokens 4096 \
                --max-steps 12 --epochs 1000 --seed 1 --eval-tokens 2000 --untested --device cuda --precision bf16 --out "$run" \
                2>"$run.txt" || { cat "$run.txt"; bad=1; }
            rm -f "$run"/*.safetensors
            cut -d, -f1-7 "$run/log.csv" >"$run.log"
        done
        { [ -s "$run.log" ] && cmp "$out/served-$width.log" "$run.log"; } || { echo "width $width: early launches change the log"; bad=1; }
    done
    cat "$out/served-512.txt" "$out/served-128.txt" | awk -F, -v file="$out/served.csv" '
        BEGIN { print "ta,tb,m,n,k,more,type,out,epilogue,aligned,served,kernel,tile,parts,reduction" >file }
        $1 == "cublaslt" {
            n++; of += $12
            if ($12 == 1 && $16 != 0 && $16 != 2) { print "parts along k are added in the type of the result: " $0; bad++ }
            sub("^cublaslt,", ""); print >file
        }
        END { print n + 0 " shapes, " of + 0 " of them served, " bad + 0 " with a reduction that is not in f32"; exit !n || bad }' || bad=1
    cat "$out/served-512.txt" "$out/served-128.txt" | awk -F, -v file="$out/graphs.csv" '
        BEGIN { print "bytes" >file }
        $1 == "graph" { n++; sum += $2; print $2 >file; if ($2 > 64 * 1048576) bad++ }
        END { print n + 0 " graphs, " sum + 0 " bytes"; exit !n || bad }' || bad=1
    return $bad
}

tool() {
    command -v "$1" || ls "/usr/local/cuda/bin/$1" 2>/dev/null || { echo "$1 is not installed" >&2; return 1; }
}

sanitizer() {
    sanitize=$(tool compute-sanitizer) || return 1
    bad=0
    for check in memcheck racecheck; do
        for t in kernels/test_kernels bridge/test_device; do
            run "$sanitize" --tool $check --error-exitcode 9 "$build/release/tests/$t" || bad=1
        done
    done
    return $bad
}

profile() {
    ncu=$(tool ncu) || return 1
    rm -rf "$out/profile"
    run "$ncu" --csv --log-file "$out/profile.csv" --launch-skip 400 --launch-count 200 --metrics \
        gpu__time_duration.sum,dram__bytes.sum,sm__inst_executed_pipe_tensor.sum \
        "$trotter" train --scheme transformer --corpus kjv --vocabulary 10000 --layers 6 --width 512 --inner 2048 --heads 8 \
        --sequence 64 --batch-tokens 16384 --max-steps 4 --eval-tokens 2000 --device cuda --precision bf16 --out "$out/profile"
}

# Writes the loss curves of the same 200 steps, and prints the largest relative difference of a row.
agree() {
    common="--scheme transformer --corpus kjv --vocabulary 4000 --layers 2 --width 128 --inner 512
            --heads 4 --batch-tokens 2048 --max-steps 200 --epochs 1000 --eval-tokens 5000 --seed 1"
    rm -rf "$out/agree-cuda" "$out/agree-cpu"
    # shellcheck disable=SC2086
    { run "$trotter" train $common --device cuda --out "$out/agree-cuda" &&
        run "$trotter" train $common --device cpu --out "$out/agree-cpu"; } || return 1
    paste -d, "$out/agree-cpu/log.csv" "$out/agree-cuda/log.csv" | awk -F, '
        NR == 1 { for (i = 1; i <= NF / 2; i++) if ($i == "train_loss") c = i; half = NF / 2
                  print "step,cpu,cuda,relative"; next }
        { d = ($(c + half) - $c) / $c; if (d < 0) d = -d; if (d > most) most = d; n++
          print $1 "," $c "," $(c + half) "," d }
        END { printf "largest relative difference of %d rows: %g\n", n, most >"/dev/stderr"
              exit !(n > 0 && most <= 1e-3) }' >"$out/agree.csv"
}

# figures NAME BENCH OPTION...: runs a bench, as CSV
figures() {
    name=$1
    shift
    run "$trotter" bench "$@" --csv >"$out/$name.csv" || { cat "$out/$name.csv"; return 1; }
    cat "$out/$name.csv"
}

bench() {
    bad=0
    for precision in bf16 tf32 f32; do figures bench-$precision train --device cuda --precision $precision --budget 20 || bad=1; done
    return $bad
}

large() {
    bad=0
    for precision in bf16 tf32; do
        figures large-$precision train --device cuda --precision $precision --width 1024 --scheme transformer --budget 10 || bad=1
    done
    return $bad
}

# Measures the networks in a precision. Our own figures come first, so that a peer's script that fails or hangs loses none.
beside() {
    bad=0 n=0 precision=${1#speed_}
    for row in 'train --width 512 --scheme transformer' 'train --width 128 --scheme transformer' 'train --width 6x512 --scheme transformer' \
        'train --width 512 --scheme rk4-layer' 'pairs --size 128 --stacks transformer/transformer' 'translate --size 128 --sentences 64'; do
        n=$((n + 1)) bench=${row%% *}
        script=$peer/torch_$(echo "$bench" | sed s/train/lm/).py
        [ -f "$script" ] || { echo "no $script: --peer DIR has PyTorch's scripts"; return 1; }
        # shellcheck disable=SC2086
        figures "speed-$precision-$n" $row --precision "$precision" --device cuda --budget 3 --peer "$script" \
            --peer-ways 2 --peer-limit 45 || bad=1
    done
    return $bad
}

launches() {
    bad=0
    for width in 512 128 6x512; do
        run "$trotter" bench train --launches --width $width --scheme transformer --device cuda --precision "${PRECISION:-bf16}" --budget 5 \
            --out "$out/launches-$width" || bad=1
    done
    return $bad
}

# step_ms PROGRAM WIDTH: milliseconds of a step
step_ms() {
    "$1" bench train --device cuda --precision bf16 --width "$2" --scheme transformer --budget 1 --csv |
        awk -F, '$1 ~ /tokens_per_s$/ { printf "%.4f", 64 * 64 * 1e3 / $3 }'
}

ledger() {
    [ -x "$before/build/release/trotter" ] || { echo "no --before DIR with build/release/trotter"; return 1; }
    for width in 512 128; do
        for round in 1 2 3 4 5; do
            echo "$width,$round,$(step_ms "$before/build/release/trotter" $width),$(step_ms "$trotter" $width)"
        done
    done >"$out/rounds.csv"
    awk -F, '$3 > 0 && $4 > 0 { n[$1]++; was[$1] += $3; now[$1] += $4 }
        END { print "width,before_ms,now_ms,gain_ms"
              for (w in n) printf "%s,%.4f,%.4f,%.4f\n", w, was[w] / n[w], now[w] / n[w], (now[w] - was[w]) / n[w]
              exit !(n[512] == 5 && n[128] == 5) }' "$out/rounds.csv" >"$out/ledger.csv"
}

# OpenBLAS chooses its kernels itself: torch's wheels do not have it. A width at a time, so that a limit loses one at most.
processor() {
    export OPENBLAS_CORETYPE=
    bad=0 precision=${1#cpu_}
    for width in 512 128; do
        figures "cpu-$precision-$width" train --device cpu --precision "$precision" --width $width --scheme transformer --repeats 3 --budget 5 \
            --peer "$peer/torch_lm.py" --peer-limit 60 || bad=1
    done
    return $bad
}

planned() {
    [ -n "$corpus" ] || { echo "no --corpus"; return 1; }
    TROTTER=$trotter run sh studies/scripts/planned.sh "$1" --corpus "$corpus" ${glue:+--glue "$glue"} --out "$out/planned"
}

# Measures tokens a second of the same batches, a step's time, and the part of it that the first rank waits for sums.
gpus() {
    count=$(nvidia-smi -L | wc -l)
    [ "$count" -gt 1 ] || { echo "$count GPU: nothing to compare"; return 0; }
    command -v mpirun || { echo "mpirun is not installed"; return 1; }
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
    bad=0 n=1
    echo "gpus,tokens_per_s,bytes_per_step,wait_ms_per_step,ms_per_step" >"$out/gpus.csv"
    while [ "$n" -le "$count" ]; do
        mpirun -n $n "$trotter" train --scheme transformer --corpus kjv --vocabulary 10000 --layers 6 --width 512 \
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

# Most of its time goes to truncation errors, which the processor measures: --errors N in STUDY takes N sentences.
study() {
    [ -n "$corpus" ] || { echo "no --corpus"; return 1; }
    begun=$(date +%s)
    # shellcheck disable=SC2086
    run sh studies/scripts/tables.sh --full --device cuda --precision "${PRECISION:-bf16}" \
        ${STUDY:---only table5,layers-long --seeds 1 --errors 0 --jobs 5} --corpus "$corpus" --out "$out/tables"
    status=$?
    echo "$(cat "$out"/tables/*/runs.csv 2>/dev/null | grep -vc '^scheme,') models, $(($(date +%s) - begun)) s of the device"
    return $status
}

# ---- the run -------------------------------------------------------------------------------------
# The script calls itself for one part, so that a limit can end it.
[ -z "${GPU_SH_PART:-}" ] || {
    $(echo "$parts" | awk -v part="$GPU_SH_PART" '$2 == part { print $4 ? $4 : part }') "$GPU_SH_PART"
    exit $?
}

command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi >/dev/null 2>&1 || {
    echo "gpu.sh: no NVIDIA device here: nothing is measured" >&2
    exit 2
}
[ -x "$trotter" ] || { echo "gpu.sh: $trotter is not there: make build tests, or make bundle elsewhere" >&2; exit 2; }
about >"$out/about.txt"
cat "$out/about.txt"
for word in ${words:-first speed tools}; do
    echo "command: gpu.sh $word" >>"$out/about.txt"
    for line in $(echo "$parts" | awk -v word="$word" '$1 == word { print $2 ":" $3 }'); do part "${line%:*}" "${line#*:}"; done
done
echo "results in $out; failed:${failed:- nothing}"
[ -z "$failed" ]
