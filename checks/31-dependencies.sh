# Licences, origins and banned packages of everything we depend on, as deny.toml says. Advisories need a database that
# cannot always be had: `cargo deny check advisories`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
# Without the relay the program links nothing of it, and no async runtime.
if linked=$(cargo tree --locked -p schwann-cli --no-default-features --edges normal --prefix none | grep -E '^(async-nats|hpke|nkeys|schwann-hub|schwann-relay|tokio) '); then
  printf 'schwann without the feature "hub" links:\n%s\n' "$linked"
  exit 1
fi
cargo-deny --log-level error check --hide-inclusion-graph licenses bans sources
