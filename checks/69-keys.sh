# `schwann keys` where things go wrong: a slip, a full disk, a wrong clock, no network, a kill at each step. Nothing is lost. Then a
# real keyring of a desktop that holds the passphrase.
# cores: 0
# network: own
# debian: libsecret-tools gnome-keyring dbus-daemon
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need cc unshare mount
need_networks
python3 tests/system/keys.py "$built/schwann"
