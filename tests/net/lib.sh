# shellcheck shell=bash
# Sourced by scripts that tests/net/run runs: what arrived, counted.
net=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${NACRE_NET_LOG:?is set by tests/net/run}"

# Everything that arrived is forgotten.
net_reset() { : >"$NACRE_NET_LOG"; }

# count_events FIELD=VALUE…: see ./seen.
count_events() { "$net/seen" "$@"; }
show_events() { "$net/seen" --print "$@"; }

# count_requests [HOST [PATH]]: requests by their Host header, the port left out.
count_requests() { "$net/seen" event=request ${1:+"host=$1"} ${2:+"path=$2"}; }

# count_connections [ADDRESS [PORT]]: connections that were accepted.
count_connections() { "$net/seen" event=connect ${1:+"address=$1"} ${2:+"port=$2"}; }

# count_queries [NAME [TYPE]]: DNS questions.
count_queries() { "$net/seen" event=query ${1:+"name=$1"} ${2:+"type=$2"}; }

# count_datagrams [PORT]: UDP that went anywhere but to the resolver.
count_datagrams() { "$net/seen" event=datagram ${1:+"port=$1"}; }
