# shellcheck shell=bash
# Sourced by scripts that tests/net/run runs: what arrived, counted.
net=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${NACRE_NET_LOG:?is set by tests/net/run}"

# Everything that arrived is forgotten.
net_reset() { : >"$NACRE_NET_LOG"; }

# count_events FIELD=VALUE…: see ./seen.
count_events() { "$net/seen" "$@"; }
show_events() { "$net/seen" --print "$@"; }

# all_of EVENT: how many, without a Python: most are asked for by the hundred.
all_of() { grep -c "^{\"event\": \"$1\"" "$NACRE_NET_LOG" || true; }

# count_requests [HOST [PATH]]: requests by their Host header, the port left out.
count_requests() {
    if (($#)); then
        count_events event=request ${1:+"host=$1"} ${2:+"path=$2"}
    else
        all_of request
    fi
}

# count_connections [ADDRESS [PORT]]: connections that were accepted.
count_connections() {
    if (($#)); then
        count_events event=connect ${1:+"address=$1"} ${2:+"port=$2"}
    else
        all_of connect
    fi
}

# count_queries [NAME [TYPE]]: DNS questions.
count_queries() {
    if (($#)); then
        count_events event=query ${1:+"name=$1"} ${2:+"type=$2"}
    else
        all_of query
    fi
}

# count_datagrams [PORT]: UDP that went anywhere but to the resolver.
count_datagrams() {
    if (($#)); then count_events event=datagram "port=$1"; else all_of datagram; fi
}
