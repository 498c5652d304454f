# An attacker on the wire between two processes, one who listens, and one who steals the keys afterwards. The short
# form; SCHWANN_ATTACK=full ./test.sh attacker runs every offset, thousands of random attacks on the C library, and a
# million on two processes of the engine.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
export SCHWANN_PROGRAM="$built/schwann"
export SCHWANN_THIEF="$built/examples/thief"
export SCHWANN_IMPOSTOR="$built/examples/impostor"
[ "${SCHWANN_ATTACK:-}" != full ] || export SCHWANN_ATTACKS=${SCHWANN_ATTACKS:-1000000} SCHWANN_ATTACKED_PROBES=1000000
"$built/examples/attacker"
cd tests/system
# Mostly waits, so they fit beside each other.
python3 -m pytest -q -n 4 test_attacker_lab.py
python3 -m pytest -q -rP test_attacker.py test_attacker_{ends,clock}.py test_secrecy.py | grep -Ev '^(-+ Captured|_+ )' 
