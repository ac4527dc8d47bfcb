# shellcheck shell=sh
# shared.sh: what scripts of this folder have in common. They read it first of all: . "$(dirname "$0")/shared.sh"
script=$(cd "$(dirname "$0")" && pwd)/${0##*/}

refuse() { echo "${script##*/}: $*" >&2; exit 2; }

# usage: prints the head of the script, and ends.
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$script" >&2; exit 2; }

# take_option "--NAME..." WORD VALUE...: where WORD is one of these names, sets the variable of its name to VALUE.
take_option() {
    for known in $1; do
        [ "$known" = "$2" ] || continue
        [ $# -gt 2 ] || refuse "$2 needs a value"
        eval "${2#--}=\$3"
        return
    done
    refuse "$2: no such option (see the head of the script)"
}

# about: tells when, of which commit and where.
about() {
    echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "commit: $(git -C "${script%/*}" rev-parse HEAD 2>/dev/null || echo unknown)"
    echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
}

# together LOG COMMAND...: runs it in $processes processes at once, which know their number, $process. Those behind the first write
# LOG-NUMBER.log.
together() {
    log=$1 workers=
    shift
    for process in $(seq 2 "$processes"); do
        "$@" >/dev/null 2>"$log-$process.log" &
        workers="$workers $!"
    done
    process=1
    "$@"
    # shellcheck disable=SC2086
    [ -z "$workers" ] || wait $workers
}
