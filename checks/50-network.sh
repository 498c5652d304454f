# Discovery between computers, which are network namespaces here: multicast, IPv6 alone, known peers, no network at all,
# and a network that goes and comes back.
# cores: 0
# debian: iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
[ "$(id -u)" = 0 ] || { echo "needs root for network namespaces"; exit 77; }
need_networks
EXAMPLES="$built/examples" WORK=$(mktemp -d) A=schwann-a-$$ B=schwann-b-$$
exec python3 tests/system/network.py "$EXAMPLES" "$WORK" "$A" "$B"
