#!/bin/sh
# valgrind.sh PROGRAM: runs memcheck on a short training, its resumption, an evaluation and a few schemes. valgrind has
# no AVX-512, so the kernels are those of a lower level. OpenMP's memory for its threads is "possibly lost", which is
# no error. First it has to see that a byte is read after its block.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_WAIT_POLICY=passive
check() { valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$@" >"$work/out" 2>"$work/err"; }

printf '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(1); return p[1] & 0; }\n' >"$work/bad.c"
cc -g -o "$work/bad" "$work/bad.c" && check "$work/bad"
[ $? = 99 ] || { echo "valgrind: the planted error is not seen" >&2; exit 1; }

failed=0
run() {
    check "$program" "$@" && result=clean || result=FOUND failed=1
    printf '%-8s %s\n' "$1" $result
    [ $result = clean ] || tail -n 20 "$work/err"
}

train="train --corpus markov:16 --scheme heun-layer --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 64
       --epochs 1 --rate 3e-3 --warmup 10 --positions both --kernel x86-64-v2 --threads 2 --out $work/run"
# shellcheck disable=SC2086
{
    run $train --max-steps 6
    run $train --max-steps 9 --resume
}
run eval --model "$work/run" --text "$work/run/vocab.txt" --kernel x86-64-v3
run schemes --scheme strang-marchuk:heun,rk4-layer,ab2
run order --system linear --scheme heun --summary --halvings 4
exit $failed
