# schwann keys invite and join between two computers, made of network namespaces: over IPv4, over IPv6 without IPv4, over
# link-local addresses, and across a router without multicast.
# cores: 0
# debian: iproute2 iptables
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need iptables ip6tables
need_networks
exec python3 tests/system/pairing.py "$built"
