"""Firewalls that a program manages: `schwann doctor` says what they stop, and its own commands mend that.

Usage: firewalls.py <folder of the program> <folder of a Debian with ufw and firewalld>

Runs in a mount namespace of its own. Computer A sends the stream Lab to computer B, which has a firewall.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from doctor_lab import PROGRAMS, Lab, run

ROOT = pathlib.Path(sys.argv[2]).resolve()
USER = 1234
PATIENCE = 60


class Computer:
    """B: a Debian of its own, thrown away afterwards, in the network of `lab`."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        folder = pathlib.Path(tempfile.mkdtemp())
        run(f"mount -t tmpfs none {folder}")
        self.stack.callback(run, f"umount --lazy {folder}")
        self.root = folder / "root"
        for name in ("up", "work", "root"):
            (folder / name).mkdir()
        run(f"mount -t overlay none -o lowerdir={ROOT},upperdir={folder / 'up'},workdir={folder / 'work'} {self.root}")
        self.stack.callback(run, f"umount --lazy {self.root}")
        run(f"mount --bind /proc {self.root / 'proc'}")
        run(f"mount --bind /dev {self.root / 'dev'}")
        shutil.copy(PROGRAMS / "schwann", self.root / "usr/bin/schwann")
        (self.root / "etc/lsl_api.cfg").write_text("[ports]\nIPv6=disable\n[log]\nlevel=-2\n")
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def command(self, *words: str, user: int = 0) -> list[str]:
        who = [f"--userspec={user}:{user}"] if user else []
        return ["ip", "netns", "exec", self.lab.b, "chroot", *who, str(self.root), *words]

    def does(self, *words: str, said: str = "", user: int = 0) -> subprocess.CompletedProcess:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LSLAPICFG": "/etc/lsl_api.cfg",
                       "SCHWANN_KEYS": "/tmp/no keys"}
        return subprocess.run(self.command(*words, user=user), env=environment, input=said, capture_output=True, text=True,
                              timeout=PATIENCE)

    def must(self, *words: str, said: str = "") -> str:
        done = self.does(*words, said=said)
        assert done.returncode == 0, f"{words}: {done.stdout} {done.stderr}"
        return done.stdout

    def findings(self, user: int = 0) -> dict[str, str]:
        done = self.does("schwann", "doctor", "--json", user=user)
        answer = json.loads(done.stdout)
        assert answer["streams"] or done.returncode, done
        return {finding["code"]: finding["fix"].split("    #")[0] for finding in answer["findings"]}

    def starts(self, *words: str) -> None:
        process = subprocess.Popen(self.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(process.wait, timeout=PATIENCE)
        self.stack.callback(process.terminate)

    def mends(self) -> None:
        """Agrees to every command of `schwann doctor --fix`; then all must be well."""
        fixed = self.does("schwann", "doctor", "--fix", said="y\n" * 9)
        assert "did not work" not in fixed.stderr, fixed
        assert self.findings() == {}, (self.findings(), fixed)


@contextlib.contextmanager
def computers():
    with Lab() as lab:
        lab.cable()
        lab.send()
        with Computer(lab) as here:
            yield here


def check_ufw() -> None:
    ports = "16571:16603"
    with computers() as here:
        assert here.findings() == {}
        here.does("ufw", "--force", "enable")
        assert "Status: active" in here.must("ufw", "status")
        closed = {"firewall-in": f"sudo ufw allow {ports}/udp", "firewall-rule": f"sudo ufw allow {ports}/tcp"}
        assert here.findings() == closed, here.findings()
        # An ordinary user may not read the rules, and learns the same of what can be tried.
        assert here.findings(USER) == {"firewall-in": closed["firewall-in"]}, here.findings(USER)
        here.mends()
        status = here.must("ufw", "status")
        assert f"{ports}/udp" in status and f"{ports}/tcp" in status, status
        # What it knows nothing of, it says.
        told = here.does("schwann", "doctor", user=USER).stdout
        assert "can be received" in told and "sudo schwann doctor" in told and "All is well" not in told, told
        assert "sudo" not in here.must("schwann", "doctor")
    print("ok: ufw's rules are read, and its own command opens the ports")


def check_firewalld() -> None:
    with computers() as here:
        (here.root / "run/dbus").mkdir(parents=True, exist_ok=True)
        here.starts("dbus-daemon", "--system", "--nofork", "--nopidfile")
        here.starts("firewalld", "--nofork", "--nopid")
        # A service has a group of processes; the service manager of this small system does not run.
        (here.root / "sys/fs/cgroup/system.slice/firewalld.service").mkdir(parents=True)
        deadline = time.monotonic() + PATIENCE
        while "running" != here.does("firewall-cmd", "--state").stdout.strip():
            assert time.monotonic() < deadline, here.does("firewall-cmd", "--state")
            time.sleep(0.1)

        def closed(zone: str) -> dict[str, str]:
            add = f"sudo firewall-cmd {zone}--add-port=16571-16603"
            return {"firewall-in": f"{add}/udp", "firewall-rule": f"{add}/tcp"}
        assert here.findings() == closed(""), here.findings()
        here.must("firewall-cmd", "--zone=work", "--change-interface=cable")
        assert here.findings() == closed("--zone=work "), here.findings()
        here.mends()
        assert here.must("firewall-cmd", "--zone=work", "--list-ports").split() == ["16571-16603/tcp", "16571-16603/udp"]
        assert not here.must("firewall-cmd", "--zone=public", "--list-ports").split()
        (here.root / "usr/sbin/nft").unlink()
        assert "without the program nft" in here.must("schwann", "doctor")
    print("ok: firewalld's rules are read, and its own command opens the ports in the network's zone")


def main() -> None:
    for check in (check_ufw, check_firewalld):
        check()
    print("test result: ok. 2 passed; 0 failed")


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("needs root")
    main()
