# Sourced by checks/70-firmware.sh and firmware/long-run.sh: the tests that run an image in QEMU.

# Prints the path of the test program.
qemu_tests() {
  cargo test --locked --quiet -p schwann-node --test qemu --no-run --message-format=json | python3 -c 'import json,sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["name"] == "qemu": print(message["executable"])'
}

# Runs a command in a network of its own, in which the image's tap has multicast.
in_the_images_network() {
  unshare --net bash -euc '
    ip link set lo up
    ip tuntap add schwann0 mode tap
    ip addr add 10.77.0.1/24 dev schwann0
    ip link set schwann0 up
    ip route add 224.0.0.0/4 dev schwann0
    exec "$@"' in_the_images_network "$@"
}
