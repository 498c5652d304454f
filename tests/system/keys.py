"""Runs every command of `schwann keys` where something is wrong: keys.py <program> [word].

Each ends with a sentence that names what to do next, within a minute, without a panic, and leaves the keys as they were.
"""

import contextlib
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from cases import case, run_cases  # noqa: E402
from disk import Disk  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = pathlib.Path(tempfile.mkdtemp())
PASSPHRASE = "correct horse battery staple"
WORDS = "abandon ability able about above absent"
# What a person can do next: a command, an option, or a thing to change.
NEXT = re.compile(r"`[^`]+`|schwann keys \w+|schwann doctor|--\w+|SCHWANN_\w+|make room|run this again|another name|put this folder away"
                  r"|take the file|sudo apt|the words|correct it there")


class Machine:
    """A folder of keys, and a network in which nothing else is."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.more = folder, {}
        self.config = SCRATCH / "lsl_api.cfg"
        self.config.write_text("[ports]\nIPv6=disable\n[multicast]\nResolveScope=machine\n")

    def keys(self, *words: str, said: str = "", before: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        environment = {**os.environ, "SCHWANN_KEYS": str(self.folder), "SCHWANN_PASSPHRASE": PASSPHRASE, "HOME": str(SCRATCH),
                       "LSLAPICFG": str(self.config), "XDG_RUNTIME_DIR": str(SCRATCH / "runtime"), **self.more}
        environment = {name: value for name, value in environment.items() if value}
        command = [*before, PROGRAM, "keys", *words]
        if "--serve" in words:
            return interrupted(command, environment)
        return subprocess.run(command, env=environment, input=said, capture_output=True, text=True, timeout=60)

    def does(self, *words: str, **more) -> str:
        done = self.keys(*words, **more)
        assert done.returncode == 0, (words, done)
        return done.stdout

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}


def interrupted(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess:
    """Runs what goes on until Ctrl-C, and presses that once it has said that it goes on, if it does."""
    program = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = program.stdout.readline()
    if begun:
        program.send_signal(signal.SIGINT)
    out, error = program.communicate(timeout=60)
    return subprocess.CompletedProcess(command, program.returncode, begun + out, error)


def typed(machine: Machine, words: tuple[str, ...], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs a command in a terminal, where each answer is typed once its question is there; nothing else has the passphrase."""
    far, own = pty.openpty()
    environment = {**os.environ, "SCHWANN_KEYS": str(machine.folder), "HOME": str(SCRATCH), "LSLAPICFG": str(machine.config),
                   "XDG_RUNTIME_DIR": str(SCRATCH / "runtime")}
    environment.pop("SCHWANN_PASSPHRASE", None)
    program = subprocess.Popen([PROGRAM, "keys", *words], env=environment, stdin=own, stdout=own, stderr=own, start_new_session=True)
    os.close(own)
    said, seen = "", 0
    with contextlib.suppress(OSError):
        while part := os.read(far, 65536):
            said += part.decode()
            if answers and answers[0][0] in said[seen:]:
                seen = len(said)
                os.write(far, answers.pop(0)[1].encode() + b"\n")
    os.close(far)
    assert not answers, (answers, said)
    return program.wait(60), said


def lab(name: str) -> Machine:
    """A machine that has founded a lab and certified another one."""
    machine = Machine(SCRATCH / name)
    machine.does("init")
    device = Machine(SCRATCH / f"{name}-device")
    request = device.does("new-device", "EEG room").split()[-1]
    device.does("trust", said=machine.does("issue", "--yes", request))
    return machine


def commands(request: str, elsewhere: pathlib.Path) -> list[tuple[tuple[str, ...], str]]:
    """Every command, with what is piped into it. The network is empty, so what searches finds nothing."""
    return [(("init",), ""), (("new-device", "other"), ""), (("issue", "--yes", request), ""),
            (("issue", "--yes", "--device", request), ""), (("issued",), ""), (("archive",), ""), (("renew", "--serve"), ""),
            (("invite", "--minutes", "1", "--replace", "nobody"), ""), (("join",), WORDS + "\n"), (("trust",), "no certificate"),
            (("export", str(elsewhere / "bundle")), ""), (("import", str(elsewhere / "none")), ""), (("revoke", "EEG room"), ""),
            (("renew",), ""), (("rotate",), WORDS + "\n"), (("backup", str(elsewhere / "backup")), ""),
            (("recover", str(elsewhere / "none")), WORDS + "\n"), (("unlock",), ""), (("admit", "--yes", "Eyes"), ""),
            (("pin", "--yes", "EEG"), ""), (("unpin", "EEG"), ""), (("remember",), ""), (("forget",), ""), (("status",), "")]


def judge(words: tuple[str, ...], done: subprocess.CompletedProcess) -> None:
    """A command that failed says why and what to do next; none panics."""
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1, 3), (words, done)
    assert "panicked" not in said, (words, done)
    if done.returncode:
        assert said.strip(), (words, done)
        assert NEXT.search(said), (words, done)


@case
def a_slip_at_the_terminal_is_asked_for_again():
    machine, sheet = lab("slip"), SCRATCH / "slip.backup"
    code, said = typed(machine, ("backup", str(sheet)), [("passphrase: ", "slip"), ("wrong", "again"), ("wrong", PASSPHRASE)])
    assert code == 0 and sheet.exists() and said.count("the passphrase is wrong") == 2, (code, said)
    sheet.unlink()
    code, said = typed(machine, ("backup", str(sheet)), [("passphrase: ", "one"), ("wrong", "two"), ("wrong", "three")])
    assert code == 3 and not sheet.exists() and "schwann keys recover" in said, (code, said)


@case
def the_authority_leaves_only_a_person_who_has_the_words():
    machine, file = lab("moves"), SCRATCH / "moves.backup"
    before = machine.files()
    code, said = typed(machine, ("backup", "--move", str(file)), [("passphrase: ", PASSPHRASE), ("[y/N]", "n")])
    assert code == 1 and not file.exists() and machine.files() == before and "stays on this computer" in said, (code, said)
    code, said = typed(machine, ("backup", "--move", str(file)), [("passphrase: ", PASSPHRASE), ("[y/N]", "y")])
    assert code == 0 and file.exists() and "authority.key" in before and "authority.key" not in machine.files(), (code, said)


@case
def a_certificate_with_another_name_says_so():
    machine = lab("names")
    device = Machine(SCRATCH / "names-device")
    request = device.does("new-device", "Room 2").split()[-1]
    done = device.keys("trust", said=machine.does("issue", "--yes", request))
    assert done.returncode == 0 and "This computer was called EEG room; it is now Room 2." in done.stderr, done


@case
def without_a_key_every_command_says_what_brings_one():
    request = Machine(SCRATCH / "asks").does("new-device", "asks").split()[-1]
    for number, (words, said) in enumerate(commands(request, SCRATCH)):
        if words[0] in ("init", "new-device", "archive"):
            continue
        machine = Machine(SCRATCH / f"empty{number}")
        done = machine.keys(*words, said=said)
        judge(words, done)
        assert not machine.folder.exists() or not machine.files(), (words, machine.files())


@case
def without_a_network_every_command_ends():
    # Not even loopback is up in this one.
    machine = lab("alone")
    request = Machine(SCRATCH / "asks2").does("new-device", "asks").split()[-1]
    for words, said in commands(request, SCRATCH):
        judge(words, machine.keys(*words, said=said, before=("unshare", "--net")))
    assert machine.keys("status").returncode == 0


@contextlib.contextmanager
def on_a_disk(name: str, spoil, source: Machine | None = None):
    """A machine with the keys of `source` on a disk of its own, which `spoil` makes useless."""
    with Disk(SCRATCH / f"{name}-disk", 128) as disk:
        machine = Machine(disk.folder / "keys")
        if source:
            shutil.copytree(source.folder, machine.folder)
        machine.more = {"XDG_RUNTIME_DIR": str(disk.folder / "runtime"), "HOME": str(disk.folder)}
        machine.config = shutil.copy(machine.config, disk.folder / "lsl_api.cfg")
        spoil(disk)
        yield machine


def nothing_is_lost(name: str, spoil) -> None:
    """Every command on a machine of a lab, whose disk is useless."""
    source = lab(name)
    request = Machine(SCRATCH / f"{name}-asks").does("new-device", "asks").split()[-1]
    with on_a_disk(name, spoil, source) as machine:
        before = machine.files()
        for words, said in commands(request, machine.folder.parent):
            done = machine.keys(*words, said=said)
            judge(words, done)
            if words[0] in ("issue", "archive", "export", "revoke", "rotate", "backup"):
                assert done.returncode == 3, (words, done)
            assert machine.files() == before, (words, done, sorted(machine.files()), sorted(before))
        assert machine.keys("status").returncode == 0


@case
def on_a_full_disk_nothing_is_lost():
    nothing_is_lost("full", Disk.fill)


@case
def on_a_disk_that_is_read_only_nothing_is_lost():
    nothing_is_lost("readonly", Disk.make_read_only)


@case
def on_a_useless_disk_no_machine_begins():
    source, bundle, sheet = lab("begins"), SCRATCH / "begins.bundle", SCRATCH / "begins.backup"
    source.does("export", str(bundle))
    words = words_of(source.does("backup", str(sheet)))
    device = Machine(SCRATCH / "begins-waits")
    certificate = source.does("issue", "--yes", device.does("new-device", "Waits").split()[-1])
    begins = [(None, ("init",), ""), (None, ("new-device", "Room"), ""), (None, ("import", str(bundle)), ""),
              (None, ("recover", str(sheet)), words), (device, ("trust",), certificate)]
    for spoil in (Disk.fill, Disk.make_read_only):
        for start, command, said in begins:
            with on_a_disk("begins", spoil, start) as machine:
                before = machine.files() if start else {}
                done = machine.keys(*command, said=said)
                judge(command, done)
                left = machine.files() if machine.folder.exists() else {}
                # The lock of the folder is an empty file.
                left, before = ({name: content for name, content in files.items() if name != "lab.lock"} for files in (left, before))
                assert done.returncode == 3 and left == before, (command, spoil, done, sorted(left))
    # The same does begin where there is a disk.
    for start, command, said in begins:
        machine = start or Machine(SCRATCH / f"begins-{command[0]}")
        machine.does(*command, said=said)


def words_of(sheet: str) -> str:
    """The words of a recovery sheet."""
    return " ".join(re.findall(r"^  (?:words)? +((?:[a-z]+ ){3}[a-z]+)$", sheet, re.MULTILINE))


@case
def with_a_wrong_clock_status_names_it():
    machine = lab("clock")
    library = SCRATCH / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests" / "tools" / "wrong_clock.c"], check=True)
    for years, words in ((-5, "not valid yet"), (15, "expired")):
        machine.more = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(years * 365 * 86_400)}
        done = machine.keys("status")
        judge(("status",), done)
        assert done.returncode == 1 and words in done.stdout and "clock" in done.stdout, done
        request = Machine(SCRATCH / f"clock-asks{years}").does("new-device", "asks").split()[-1]
        # Last of all: this one changes nothing.
        everything = [*commands(request, SCRATCH / f"clock{years}"), (("status",), "")]
        (SCRATCH / f"clock{years}").mkdir()
        for words, said in everything:
            judge(words, machine.keys(*words, said=said))
        assert "authority.key" in machine.files(), machine.files()


def killed_at_each_step(make, words: tuple[str, ...], said: str = ""):
    """A machine for each file that a command renames or removes: it was killed just before."""
    library = SCRATCH / "killed.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests" / "tools" / "killed.c", "-ldl"], check=True)
    for step in range(1, 40):
        machine = make(step)
        machine.more = {"LD_PRELOAD": str(library), "KILLED_AT": str(step)}
        done = machine.keys(*words, said=said)
        machine.more = {}
        if done.returncode != -9:
            assert done.returncode == 0 and step > 1, (words, step, done)
            return
        yield step, machine
    raise AssertionError(f"{words}: no end")


def states(machine: Machine) -> dict[str, str]:
    """Serial and state of every certificate on record."""
    rows = [line.split() for line in machine.does("issued").splitlines()[1:-1]]
    return {row[0]: row[-2] for row in rows}


@case
def a_command_that_was_killed_goes_on_where_it_is_run_again():
    for step, machine in killed_at_each_step(lambda step: Machine(SCRATCH / f"killed-init{step}"), ("init",)):
        assert "`schwann keys init` creates one" in machine.keys("status").stdout, step
        machine.does("init")
        assert "in force   require" in machine.does("status"), step
    for step, machine in killed_at_each_step(lambda step: lab(f"killed-revoke{step}"), ("revoke", "EEG room")):
        # What is handed out in between belongs together: a device can install it.
        device = Machine(SCRATCH / f"killed-revoke{step}-other")
        request = device.does("new-device", "MRI room").split()[-1]
        device.does("trust", said=machine.does("issue", "--yes", request))
        assert "in force   require" in machine.does("status"), step
        machine.does("revoke", "EEG room")
        assert states(machine)["2"] == "revoked", (step, states(machine))
    for step, machine in killed_at_each_step(lambda step: lab(f"killed-rotate{step}"), ("rotate",)):
        machine.does("rotate")
        # The key of a certificate that was on record and not yet installed is with no one.
        assert states(machine)["1"] == "revoked" and "in force   require" in machine.does("status"), (step, states(machine))
    source = lab("killed-recover")
    words = words_of(source.does("backup", str(SCRATCH / "killed.backup")))
    recover = ("recover", str(SCRATCH / "killed.backup"))
    for step, machine in killed_at_each_step(lambda step: Machine(SCRATCH / f"killed-recover{step}"), recover, words):
        machine.does(*recover, said=words)
        # The first machine goes on with 3, so this one must not.
        assert "3" not in states(machine), (step, states(machine))


@case
def commands_at_the_same_time_do_not_undo_each_other():
    machine = Machine(SCRATCH / "together")
    environment = {**os.environ, "HOME": str(SCRATCH / "together-home"), "SCHWANN_KEYS": str(machine.folder)}
    environment.pop("LSLAPICFG", None)
    hosts = [f"10.0.0.{number}" for number in range(1, 13)]
    running = [subprocess.Popen([PROGRAM, "peers", "add", host], env=environment, cwd=SCRATCH, stdout=subprocess.DEVNULL) for host in hosts]
    assert [one.wait(60) for one in running] == [0] * len(hosts)
    listed = subprocess.run([PROGRAM, "peers"], env=environment, cwd=SCRATCH, capture_output=True, text=True, timeout=60).stdout
    assert all(f"named       {host}\n" in listed for host in hosts), listed
    environment = {**os.environ, "SCHWANN_KEYS": str(machine.folder), "SCHWANN_PASSPHRASE": PASSPHRASE, "LSLAPICFG": str(machine.config)}
    founding = [subprocess.Popen([PROGRAM, "keys", "init"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(4)]
    assert sorted(one.wait(60) for one in founding) == [0, 3, 3, 3]
    assert "in force   require" in machine.does("status")


KEYRING = """
set -euo pipefail
printf login | gnome-keyring-daemon --unlock --components=secrets > /dev/null
schwann() { "$PROGRAM" "$@"; }
run() { env -u SCHWANN_PASSPHRASE "$PROGRAM" "$@"; }
schwann keys init > /dev/null
! run keys export none < /dev/null 2> locked
grep -q SCHWANN_PASSPHRASE locked
schwann keys remember
rm -r "$XDG_RUNTIME_DIR/schwann"
echo "locked again, and opened by the keyring:"
run keys status | grep "in force   require"
run keys unlock < /dev/null
SCHWANN_PASSPHRASE=wrong "$PROGRAM" keys remember 2> wrong && exit 1
cat wrong
rm -r "$XDG_RUNTIME_DIR/schwann"
run keys forget
! run keys unlock < /dev/null 2> forgotten
cat forgotten
"""


@case
def a_desktops_keyring_holds_the_passphrase():
    missing = [name for name in ("gnome-keyring-daemon", "secret-tool", "dbus-run-session") if not shutil.which(name)]
    if missing:
        return f"skipped: this machine has no {', '.join(missing)}"
    home = SCRATCH / "home"
    (home / "run").mkdir(parents=True, mode=0o700)
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "SCHWANN_KEYS": str(home / "keys"),
                   "PROGRAM": PROGRAM, "SCHWANN_PASSPHRASE": PASSPHRASE, "LSLAPICFG": str(SCRATCH / "lsl_api.cfg")}
    done = subprocess.run(["dbus-run-session", "--", "bash", "-c", KEYRING], env=environment, cwd=home, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done
    assert "The passphrase is in the keyring" in done.stdout and "No passphrase is in the keyring" in done.stdout, done
    assert PASSPHRASE not in done.stdout + done.stderr
    return None


@case
def a_keyring_that_is_not_there_says_so():
    machine = lab("no-keyring")
    machine.more = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    done = machine.keys("remember")
    assert done.returncode == 3 and "schwann keys unlock" in done.stderr, done
    machine.more = {"PATH": "/nonexistent"}
    done = machine.keys("remember")
    assert done.returncode == 3 and "libsecret-tools" in done.stderr, done
    assert machine.keys("status").returncode == 0


def main() -> None:
    try:
        run_cases(sys.argv[2:])
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()
