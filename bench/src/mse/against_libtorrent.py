"""What libtorrent costs on this machine, to hold our figures against: plain, and RC4, between two processes of it.

    python3 bench/src/mse/against_libtorrent.py [MIB] [ROUNDS]        needs the package libtorrent

It also measures our handshake with libtorrent as responder, and prints medians with their spread.
"""

import multiprocessing
import pathlib
import random
import resource
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "interop"))
import mse_clients as clients  # noqa: E402

MODES = {"plain": "none", "MSE, plaintext": "plaintext", "MSE, rc4": "rc4"}


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def seed(torrent, mode, pipe):
    session = clients.Libtorrent(mode)
    session.add(torrent, seed=True)
    pipe.send(session.port)
    pipe.recv()
    pipe.send(cpu())


def leech(torrent, mode, port, pipe):
    session = clients.Libtorrent(mode)
    handle = session.add(torrent, seed=False)
    began = time.perf_counter()
    handle.connect_peer(("127.0.0.1", port))
    while not handle.status().is_seeding:
        time.sleep(0.01)
    pipe.send((time.perf_counter() - began, cpu()))


def transfer(mode, mib):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        torrent = clients.Torrent(folder, random.Random(3).randbytes(mib << 20))
        (ours, theirs), (ours2, theirs2) = multiprocessing.Pipe(), multiprocessing.Pipe()
        seeder = multiprocessing.Process(target=seed, args=(torrent, mode, theirs), daemon=True)
        seeder.start()
        port = ours.recv()
        leecher = multiprocessing.Process(target=leech, args=(torrent, mode, port, theirs2), daemon=True)
        leecher.start()
        took, leecher_cpu = ours2.recv()
        ours.send("done")
        seeder_cpu = ours.recv()
        assert torrent.wait_for_leech(10), "the file arrived changed"
        for process in (leecher, seeder):
            process.kill()
            process.join()
        return mib / took, (seeder_cpu + leecher_cpu) * 1024 / mib


def handshakes(count):
    programs = clients.build()
    with tempfile.TemporaryDirectory() as folder:
        torrent = clients.Torrent(folder, random.Random(4).randbytes(100_000))
        seeder = clients.Libtorrent("rc4")
        seeder.add(torrent, seed=True)
        return [float(clients.fetch(programs, torrent, seeder.port)["answered_ms"]) for _ in range(count)]


def spread(values):
    return f"{statistics.median(values):8.2f} ({min(values):.2f} to {max(values):.2f}, n {len(values)})"


def main():
    mib, rounds = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (128, 3)
    figures = {name: [] for name in MODES}
    for _ in range(rounds):
        for name, mode in MODES.items():
            figures[name].append(transfer(mode, mib))
    for name, pairs in figures.items():
        print(f"libtorrent to libtorrent, {name:<16} MiB/s     {spread([speed for speed, _ in pairs])}")
        print(f"libtorrent to libtorrent, {name:<16} CPU s/GiB {spread([used for _, used in pairs])}")
    plain, rc4 = (statistics.median(used for _, used in figures[name]) for name in ("MSE, plaintext", "MSE, rc4"))
    print(f"libtorrent's RC4, from the difference: {2 * 1024 / max(rc4 - plain, 1e-9):.0f} MiB/s a core")
    print(f"we dial libtorrent, connect to its answer, ms {spread(handshakes(30))}")


if __name__ == "__main__":
    main()
