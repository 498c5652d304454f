# An attacker on the wire between two processes, one who listens, and one who steals the keys afterwards. The short
# form; SCHWANN_ATTACK=full ./test.sh attacker runs every offset, thousands of random attacks on the C library, and a
# million on two processes of the engine.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
source interop/environment.sh
cargo build --locked --quiet -p schwann-cli
# Optimised: the thief tries a hundred thousand key agreements.
cargo build --locked --quiet --release -p schwann-session --example thief --example impostor
export SCHWANN_PROGRAM="${CARGO_TARGET_DIR:-$PWD/target}/debug/schwann"
export SCHWANN_THIEF="${CARGO_TARGET_DIR:-$PWD/target}/release/examples/thief"
export SCHWANN_IMPOSTOR="${CARGO_TARGET_DIR:-$PWD/target}/release/examples/impostor"
cargo build --locked --quiet --release -p schwann --example attacker
[ "${SCHWANN_ATTACK:-}" != full ] || export SCHWANN_ATTACKS=${SCHWANN_ATTACKS:-1000000} SCHWANN_ATTACKED_PROBES=1000000
"${CARGO_TARGET_DIR:-$PWD/target}/release/examples/attacker"
cd interop
# Mostly waits, so they fit beside each other.
python3 -m pytest -q -n 4 test_attacker_lab.py
python3 -m pytest -q -rP test_attacker.py test_secrecy.py | grep -Ev '^(-+ Captured|_+ )' 
