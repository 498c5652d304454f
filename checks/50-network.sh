# Discovery between computers, which are network namespaces here: multicast, IPv6 alone, known peers, no network at all,
# and a network that goes and comes back.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "needs root for network namespaces"; exit 77; }
command -v ip > /dev/null || apt-get install -y -qq iproute2 > /dev/null || { echo "needs iproute2"; exit 77; }
unshare --net true 2> /dev/null || { echo "network namespaces are not permitted here"; exit 77; }
cargo build --locked --quiet -p schwann --examples
EXAMPLES=${CARGO_TARGET_DIR:-target}/debug/examples WORK=$(mktemp -d) A=schwann-a-$$ B=schwann-b-$$
exec python3 checks/network.py "$EXAMPLES" "$WORK" "$A" "$B"
