# schwann doctor on broken networks, made of network namespaces: each gets the finding that explains it.
# cores: 0
# debian: iproute2 iptables nftables
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need iptables nft
need_networks
exec python3 tests/system/doctor.py "$built"
