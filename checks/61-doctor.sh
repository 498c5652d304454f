# schwann doctor on broken networks, made of network namespaces: each gets the finding that explains it.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "needs root for network namespaces"; exit 77; }
{ command -v ip && command -v iptables && command -v nft; } > /dev/null || { apt-get update -qq && apt-get install -y -qq iproute2 iptables nftables; } \
  > /dev/null 2>&1 || { echo "needs iproute2, iptables and nftables"; exit 77; }
unshare --net true 2> /dev/null || { echo "network namespaces are not permitted here"; exit 77; }
cargo build --locked --quiet -p schwann-cli --bin schwann --example send_lab
exec python3 checks/doctor.py "${CARGO_TARGET_DIR:-target}/debug"
