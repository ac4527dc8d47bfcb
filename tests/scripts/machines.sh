#!/bin/sh
# machines.sh TROTTER: trainings of ranks on two machines, and a study of processes of two machines. A machine is a network
# namespace with a host name; between them is a cable (tests/python/relay.py) of 5 ms that loses 2 % of the packets. One rank is
# killed, one is paused for PAUSE=60 seconds, the cable is cut, a clock is an hour off (faketime). Needs root, Open MPI
# and python3. It has to see a cable that loses everything, and a curve of another seed.
program=$(realpath "$1") here=$(dirname "$(realpath "$0")") a=trotter-a$$ b=trotter-b$$ failed=0
[ "$(id -u)" = 0 ] && command -v mpirun ip python3 >/dev/null && ip netns add $a 2>/dev/null ||
    { echo "check-machines: SKIPPED: needs root, network namespaces, mpirun, ip and python3"; exit 0; }
dir=$(mktemp -d)
end() {
    for machine in $a $b; do
        for pid in $(ip netns pids $machine 2>/dev/null); do kill -9 "$pid"; done
        ip netns del $machine
    done 2>/dev/null
    kill "$cable" 2>/dev/null
    rm -rf "$dir"
}
trap end EXIT
say() { echo "check-machines: $*"; }
wrong() { say "$*" >&2; failed=1; }

# ---- two machines
ip netns add $b
i=0
for machine in $a $b; do
    i=$((i + 1))
    ip link add "t$i-$$" type veth peer name eth0 netns $machine
    ip -n $machine addr add 10.77.0.$i/24 dev eth0
    ip -n $machine link set eth0 up
    ip -n $machine link set lo up
    ip link set "t$i-$$" up promisc on
    ip netns exec $machine python3 "$here/../python/relay.py" plain eth0
done
# join LOSS: lays the cable
join() {
    [ -z "$cable" ] || kill "$cable"
    python3 "$here/../python/relay.py" "t1-$$" "t2-$$" 5 "$1" 2>"$dir/cable" &
    cable=$!
}
cat >"$dir/agent" <<EOF2
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c 'hostname other; exec sh -c "\$*"' sh "\$@"
EOF2
chmod +x "$dir/agent"
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
on() { # on MACHINE COMMAND...
    machine=$1
    shift
    ip netns exec "$machine" unshare --uts sh -c 'hostname '"$machine"'; exec "$@"' sh "$@"
}
ranks() {
    on $a timeout 200 mpirun --allow-run-as-root --mca plm_rsh_agent "$dir/agent" --mca btl self,tcp --mca btl_tcp_if_include eth0 \
        --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 --host 10.77.0.1:1,10.77.0.2:1 -n 2 "$@" >"$dir/said" 2>&1
}
mkdir "$dir/text"
for part in train valid test; do head -60 "$here/../../nn/kjv/kjv.$part.txt" >"$dir/text/$part.txt"; done
net="--corpus $dir/text --vocabulary 100 --layers 1 --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 64 --rate 1e-2
     --warmup 5 --threads 1"
# shellcheck disable=SC2086
train() { out=$1; shift; "$@" "$program" train --scheme macaron --epochs 4 $net --untested --seed "${seed:-3}" --out "$dir/$out"; }
# same A B: perplexities of all epochs agree to 1e-5
same() {
    awk -F, 'NR == FNR { p[FNR] = $5; n = FNR; next } FNR > 1 { d = $5 - p[FNR]; bad += !(d * d <= 1e-10 * $5 * $5) }
             END { exit bad || n < 5 || FNR != n }' "$dir/$1/log.csv" "$dir/$2/log.csv"
}
rank() { # the process on the other machine
    for pid in $(ip netns pids $b); do [ "$(cat /proc/"$pid"/comm)" = "$(basename "$program")" ] && echo "$pid"; done
}
begun() { # waits until a training has saved a state
    for _ in $(seq 600); do [ -f "$dir/$1/state.safetensors" ] && return; sleep 0.1; done
}

train one env >/dev/null 2>&1
seed=4 train another env >/dev/null 2>&1
same one another && wrong "another seed's curve was not seen"
join 100
ip netns exec $a python3 -c 'import socket; socket.create_connection(("10.77.0.2", 9), 3)' 2>"$dir/lost"
grep -q 'timed out\|No route' "$dir/lost" || wrong "a cable that loses everything was not seen: $(tail -n 1 "$dir/lost")"
join 2

# ---- ranks
train two ranks
same one two && say "two ranks over the cable: the curve of one process" || wrong "two ranks: $(tail -n 3 "$dir/said")"

train killed ranks &
begun killed
kill -9 "$(rank)"
wait $! && wrong "a rank was killed, and nobody said so"
seed=3 train killed ranks
grep -q resume "$dir/said" || wrong "no way on was named: $(tail -n 2 "$dir/said")"
ranks "$program" train --resume --out "$dir/killed"
same one killed && say "a rank killed, resumed: the curve of one process" || wrong "killed: $(tail -n 3 "$dir/said")"

for what in rank cable; do
    train paused-$what ranks &
    begun paused-$what
    [ $what = cable ] && pid=$cable || pid=$(rank)
    kill -STOP "$pid"
    sleep "${PAUSE:-60}"
    kill -CONT "$pid"
    wait $!
    same one paused-$what && say "$what paused for ${PAUSE:-60} s: the curve of one process" || wrong "paused $what: $(tail -n 3 "$dir/said")"
done

# ---- a study of two machines, whose clocks are an hour apart
study="$program compare --scheme euler,heun --seeds 3 --epochs 2 $net"
clock='faketime -f +1h'
# shellcheck disable=SC2086
[ $(($($clock date +%s 2>/dev/null || date +%s) - $(date +%s))) -gt 3000 ] || clock=
[ -n "$clock" ] || say "no faketime: the clocks agree"
# shellcheck disable=SC2086
{
    on $a $study --out "$dir/alone" >/dev/null 2>&1
    on $b $clock $study --out "$dir/study" >/dev/null 2>"$dir/b" &
    first=$!
    on $a $study --out "$dir/study" >/dev/null 2>"$dir/a"
    wait $first
}
for run in "$dir"/alone/runs/*/; do
    cmp -s "$run/model.safetensors" "$dir/study/runs/$(basename "$run")/model.safetensors" || wrong "study: $(basename "$run") differs"
done
trained=$(grep -c ' trains ' "$dir/study/study.log") hosts=$(sed -n 's/^[^ ]* \([^ ]*\) .* trains .*/\1/p' "$dir/study/study.log" | sort -u | wc -l)
[ "$trained" = 6 ] || wrong "$trained trainings of 6 runs"
say "a study of $hosts machines: $trained trainings of 6 runs, the models of one machine"
exit $failed
