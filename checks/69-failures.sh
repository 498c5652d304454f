# Every command of `schwann` but `keys`, where things go wrong: a full disk, a folder that is read-only, no network, no key, a wrong
# clock. Each ends with a sentence and what to do next, and nothing is lost.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need cc unshare mount
need_networks
python3 tests/system/failures.py "$built/schwann"
