# schwann gateway between three computers, made of network namespaces: stamps, clocks and descriptions are the original's;
# another user, another computer and a loop are refused.
# cores: 0
# debian: iproute2 util-linux iptables
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need setpriv unshare iptables
need_networks
libraries
exec python3 tests/system/gateway.py "$built/schwann" "$SCHWANN_LIBLSL" "$REAL_LIBLSL_118"
