# schwann doctor where ufw or firewalld manages the firewall: it names their commands, and these mend what it found. Both run in a
# small Debian of their own, in networks of their own, so nothing is installed here.
# cores: 0
# debian: debootstrap iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need debootstrap
need_networks
# Of this computer's release: our program runs in it.
root="$SCHWANN_STATE/firewalls" release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
if [ ! -d "$root" ]; then
  rm -rf "$root.new"
  # firewalld asks for a login service.
  debootstrap --variant=minbase --include=dbus,firewalld,libpam-systemd,nftables,ufw "$release" "$root.new" > "$root.log" 2>&1 \
    || { echo "debootstrap of $release failed: $(tail -n 1 "$root.log")"; exit 77; }
  rm -rf "$root.new"/var/cache/apt/archives/*.deb "$root.new"/var/lib/apt/lists
  mv "$root.new" "$root"
fi
exec unshare --mount python3 tests/system/firewalls.py "$built" "$root"
