"""Holds MSE against libtorrent on this machine: the speed of RC4, and no wait of 40 ms in either role.

    python3 bench/src/mse/against_libtorrent.py [MIB] [ROUNDS]        needs the package libtorrent, and what checks/56-mse.sh builds

libtorrent's RC4 is the difference between its transfers with and without it, between two processes. Ours is what
`schwann-bench mse cipher` measures, if that is built. Every figure is a median with its spread, every criterion says whether it is met.
"""

import multiprocessing
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import mse_clients as clients  # noqa: E402
import mse_ours  # noqa: E402
import mse_torrent  # noqa: E402

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
        torrent = mse_torrent.Torrent(folder, random.Random(3).randbytes(mib << 20))
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


def we_dial(count):
    """Milliseconds from our connect to libtorrent's handshake."""
    programs = mse_ours.programs_of_ours()
    with tempfile.TemporaryDirectory() as folder:
        torrent = mse_torrent.Torrent(folder, random.Random(4).randbytes(100_000))
        seeder = clients.Libtorrent("rc4")
        seeder.add(torrent, seed=True)
        return [float(mse_ours.fetch(programs, torrent, seeder.port)["answered_ms"]) for _ in range(count)]


def it_dials(count):
    """Milliseconds from libtorrent's connection until its step 3 is complete."""
    programs = mse_ours.programs_of_ours()
    with tempfile.TemporaryDirectory() as folder:
        torrent = mse_torrent.Torrent(folder, random.Random(5).randbytes(100_000))
        server = mse_ours.Server(programs, torrent)
        taken = []
        for _ in range(count):
            leecher = clients.Libtorrent("rc4")
            leecher.add(torrent, seed=False).connect_peer(("127.0.0.1", server.port))
            taken.append(float(server.line()["shaken_ms"]))
            assert torrent.wait_for_leech(30), "the file arrived changed"
            leecher.close()
            assert "bytes" in server.line()
            (torrent.leech_folder / torrent.name).unlink()
        server.close()
        return taken


def our_rc4():
    """MiB a second, or None without the program."""
    program = ROOT / "target" / "release" / "schwann-bench"
    if not program.exists():
        print("ours is not measured: cargo build --release -p schwann-bench")
        return None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "mse", "cipher", "--trial", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        lines = pathlib.Path(folder, "record.tsv").read_text().splitlines()[1:]
        return next(float(fields[5]) for fields in (line.split("\t") for line in lines) if fields[2] == "schwann rc4")


def spread(values):
    return f"{statistics.median(values):8.2f} ({min(values):.2f} to {max(values):.2f}, n {len(values)})"


def verdict(met, criterion):
    return f"{'met' if met else 'NOT MET'}: {criterion}"


def report_stall(name, values):
    """One in ten may be late for another reason; a delayed acknowledgement makes every one of them late."""
    ninth = sorted(values)[len(values) * 9 // 10]
    print(f"{name} {spread(values)}  {verdict(ninth < 20, 'no wait of 40 ms (nine of ten < 20 ms)')}")


def main():
    mib, rounds = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (128, 5)
    figures = {name: [] for name in MODES}
    ours = []
    for _ in range(rounds):
        ours.append(our_rc4())
        for name, mode in MODES.items():
            figures[name].append(transfer(mode, mib))
    for name, pairs in figures.items():
        print(f"libtorrent to libtorrent, {name:<16} MiB/s     {spread([speed for speed, _ in pairs])}")
        print(f"libtorrent to libtorrent, {name:<16} CPU s/GiB {spread([used for _, used in pairs])}")
    rounds_of = [[used for _, used in figures[name]] for name in ("MSE, plaintext", "MSE, rc4")]
    # Both ends: two passes.
    theirs = 2 * 1024 / max(statistics.median(rc4 - plain for plain, rc4 in zip(*rounds_of, strict=True)), 1e-9)
    print(f"libtorrent's RC4, from the difference: {theirs:.0f} MiB/s a core")
    if None not in ours:
        ratio = statistics.median(ours) / theirs
        print(f"our RC4: {spread(ours)} MiB/s, {ratio:.2f} x libtorrent's  {verdict(ratio >= 1.9, 'about 2 x (>= 1.9)')}")
    report_stall("we dial libtorrent, connect to its answer, ms", we_dial(30))
    report_stall("libtorrent dials us, connect to the end of its step 3, ms", it_dials(10))


if __name__ == "__main__":
    main()
