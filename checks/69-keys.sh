# schwann where things go wrong: a full disk, a folder that is read-only, no network, no key, a wrong clock. Each command ends
# with a sentence and what to do next, and nothing is lost. Then a real keyring of a desktop that holds the passphrase.
# cores: 0
# network: own
# debian: libsecret-tools gnome-keyring dbus-daemon
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need cc unshare mount
need_networks
build -p schwann-cli --bin schwann
python3 tests/system/keys.py "$built/schwann"
# The same for all other commands.
python3 tests/system/failures.py "$built/schwann"
