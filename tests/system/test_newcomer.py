"""A newcomer at the terminals of three machines: from nothing to sealed streams, by what the program prints alone.

Each machine is a home of its own. Needs SCHWANN_LIBLSL and SCHWANN_PROGRAM. Run by checks/53-sealed.sh.
"""

import codecs
import contextlib
import os
import pty
import queue
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time

import pytest

from test_sealed import OURS, PROGRAM, exchange, machine, network  # noqa: F401

pytestmark = pytest.mark.skipif(not (OURS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set")

TWICE = [("a passphrase for", "correct horse"), ("the same once more", "correct horse")]
ONCE = [("passphrase: ", "correct horse")]
PATIENCE = 60
# Of a person who types 40 words a minute.
KEYS_A_SECOND = 40 * 5 / 60


class Machine:
    """A home with a terminal."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "runtime").mkdir(parents=True)
        self.home = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "runtime")}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN", "XDG"))}
        self.environment |= self.home
        # How often a person has pressed a key here.
        self.keystrokes = 0

    def types(self, line, answers=(), look=lambda screen: None):
        """Types a command, and answers when asked; returns the exit code and what is on the screen.

        `look` is given what is on the screen whenever it changes."""
        screen, own = pty.openpty()
        words = shlex.split(line)
        assert words[0] == "schwann"
        process = subprocess.Popen([PROGRAM, *words[1:]], cwd=self.folder, env=self.environment, stdin=own, stdout=own, stderr=own,
                                   start_new_session=True)
        os.close(own)
        deadline, text, answers, self.screen = time.monotonic() + PATIENCE, "", list(answers), ""
        self.keystrokes += sum(len(typed) + 1 for typed in (line, *(answer for _, answer in answers)))
        # A read may end within a character.
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            # At the end of the last program on it, a terminal says so by an error.
            try:
                text += decoder.decode(os.read(screen, 65536))
            except OSError:
                break
            assert time.monotonic() < deadline, text
            look(text.replace("\r", ""))
            while answers and (asked := re.search(re.escape(answers[0][0]), text)):
                seen, text = text[:asked.end()], text[asked.end():]
                os.write(screen, (answers.pop(0)[1] + "\n").encode())
                self.before, self.screen = seen, self.screen + seen.replace("\r", "")
        os.close(screen)
        # All that was on the screen.
        self.screen += text.replace("\r", "")
        assert not answers, f"{line}: never asked for {answers[0][0]!r}: {text}"
        return process.wait(PATIENCE), text.replace("\r", "")

    def follows(self, line, answers=()):
        code, text = self.types(line, answers)
        assert code == 0, text
        return text


def next_command(text, beginning):
    """The command that the program printed for the user to run."""
    line = next(line for line in text.splitlines() if line.startswith(f"  schwann keys {beginning}"))
    return re.split(r" {2,}", line.strip())[0]


def pasted(text):
    """What a newcomer marks and copies: all of it."""
    return [("Paste the lines", text)]


def test_three_machines_come_to_seal_their_streams_by_following_the_screen(tmp_path, network):  # noqa: F811
    control, shares, own = (Machine(tmp_path / name) for name in ("control", "shares", "own"))
    began = time.monotonic()
    founded = control.follows("schwann keys init --name 'control room'", TWICE)
    control.follows(next_command(founded, "unlock"), ONCE)

    exported = control.follows(next_command(founded, "export"), TWICE)
    shutil.copy(control.folder / "lab.bundle", shares.folder)
    imported = shares.follows(next_command(exported, "import"), ONCE)
    shares.follows(next_command(imported, "unlock"), ONCE)

    made = own.follows(next_command(founded, "new-device").replace("NAME", "'EEG room'"), TWICE)
    issued = control.follows(next_command(made, "issue"), [("[y/N] ", "y"), *ONCE])
    assert "Run `schwann keys trust` on the new computer" in issued
    trusted = own.follows("schwann keys trust", [*ONCE, *pasted(issued)])
    own.follows(next_command(trusted, "unlock"), ONCE)
    print(f"three machines in {time.monotonic() - began:.1f} s of the program's time")

    for place, name in ((control, "control room"), (shares, "control room"), (own, "EEG room")):
        assert f"in force   require as {name}, discovery sealed" in place.follows("schwann keys status")
    environments = [machine(tmp_path, network, OURS) | place.home for place in (control, shares, own)]
    for sender, receiver in ((0, 1), (1, 2), (2, 0)):
        info, said = exchange(environments[sender], environments[receiver])
        assert "security:require" in info and said[0] == "open" and said[-1] == "True"


class Invitation:
    """`schwann keys invite` at a terminal, while others go on at theirs."""

    def __init__(self, place, line, answers=ONCE):
        self.words, self.port, self.outcome = queue.Queue(), queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=lambda: self.outcome.put(place.types(line, answers, self.look)))
        self.thread.start()

    def look(self, screen):
        if shown := re.search(r"^  ((?:[a-z]+ ){5}[a-z]+)$", screen, re.MULTILINE):
            self.words.put(shown[1])
        if shown := re.search(r"join --at \S+:(\d+)$", screen, re.MULTILINE):
            self.port.put(int(shown[1]))

    def ends(self):
        return self.outcome.get(timeout=PATIENCE)


def both_show(screen):
    return re.search(r"Both screens show: (.+)", screen)[1]


def in_network(places, network, folder):  # noqa: F811
    config = folder / "lsl_api.cfg"
    config.write_text(network)
    for place in places:
        place.environment["LSLAPICFG"] = str(config)


def test_three_machines_are_paired_by_words_within_two_minutes(tmp_path, network):  # noqa: F811
    control, *others = (Machine(tmp_path / name) for name in ("control", "eeg", "mri"))
    in_network([control, *others], network, tmp_path)
    began = time.monotonic()
    founded = control.follows("schwann keys init --name 'control room'", TWICE)
    control.follows(next_command(founded, "unlock"), ONCE)
    for place, name in zip(others, ("EEG room", "MRI room"), strict=True):
        invitation = Invitation(control, f"schwann keys invite '{name}'")
        # Four letters of each word suffice.
        words = " ".join(word[:4] for word in invitation.words.get(timeout=PATIENCE).split())
        joined = place.follows("schwann keys join", [*TWICE, ("The six words: ", words)])
        code, invited = invitation.ends()
        assert code == 0 and f"{name} is a member now" in invited
        assert both_show(joined) == both_show(invited)
        assert f"in force   require as {name}, discovery sealed" in joined
    seconds, keystrokes = time.monotonic() - began, sum(place.keystrokes for place in (control, *others))
    # On a busy machine the programs take longer; how much a person types is ours.
    print(f"three machines: {keystrokes} keys, {keystrokes / KEYS_A_SECOND:.0f} s, and {seconds:.1f} s of the programs")
    assert keystrokes / KEYS_A_SECOND < 120 - 10
    environments = [machine(tmp_path, network, OURS) | place.home for place in (control, *others)]
    for sender, receiver in ((0, 1), (1, 2), (2, 0)):
        info, said = exchange(environments[sender], environments[receiver])
        assert "security:require" in info and said[0] == "open" and said[-1] == "True"


def test_three_wrong_tries_end_an_invitation_and_the_right_words_come_too_late(tmp_path, network):  # noqa: F811
    control, guest = (Machine(tmp_path / name) for name in ("control", "guest"))
    in_network([control, guest], network, tmp_path)
    control.follows("schwann keys init --unprotected")
    invitation = Invitation(control, "schwann keys invite", [])
    words = invitation.words.get(timeout=PATIENCE)
    wrong = [("The six words: ", "abandon ability able about above absent")] * 3
    code, screen = guest.types("schwann keys join --unprotected", wrong)
    assert code == 3 and "new words" in screen
    code, invited = invitation.ends()
    assert code == 3 and "third wrong try" in invited
    assert not (guest.folder / ".config").exists()
    code, screen = guest.types("schwann keys join --unprotected", [("The six words: ", words)])
    assert code == 3 and "no invitation was found" in screen


def test_ten_thousand_strangers_do_not_keep_the_right_device_out(tmp_path, network):  # noqa: F811
    control, guest = (Machine(tmp_path / name) for name in ("control", "guest"))
    in_network([control, guest], network, tmp_path)
    control.follows("schwann keys init --unprotected")
    invitation = Invitation(control, "schwann keys invite", [])
    words, port = invitation.words.get(timeout=PATIENCE), invitation.port.get(timeout=PATIENCE)

    def knock(said):
        link = socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.2", 0))
        # One that is one too many is closed at once.
        with contextlib.suppress(ConnectionError):
            link.sendall(said)
        return link
    silent = [knock(b"") for _ in range(100)]
    for number in range(10_000):
        knock(number.to_bytes(2) * (number % 300)).close()
    assert "The key is open" not in guest.follows("schwann keys join --unprotected", [("The six words: ", words)])
    code, invited = invitation.ends()
    assert code == 0 and "tries left" not in invited and "is a member now" in invited
    for link in silent:
        link.close()


def test_who_founds_a_lab_is_asked_of_each_plain_stream(tmp_path, network):  # noqa: F811
    amplifier, control = (Machine(tmp_path / name) for name in ("amplifier", "control"))
    in_network([amplifier], network, tmp_path)
    in_network([control], network, control.folder)
    device = subprocess.Popen([PROGRAM, "fake", "eeg:2@100"], env=amplifier.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert "sending 1 stream" in device.stdout.readline()
        questions = [("Admit Fake eeg:2@100 (EEG)", "y"), ("Admit Fake eeg:2@100 markers (Markers)", "n")]
        control.follows("schwann keys init --unprotected", [(f"{what}, source id ", answer) for what, answer in questions])
        shown = control.screen
        assert "this computer hides them from now on" in shown and "`schwann gateway` brings in the" in shown, shown
        assert shown.count("security.plain admits") == 1 and "security.plain admits Fake eeg:2@100 (EEG)" in shown, shown
        _, seen = control.types("schwann --once")
        assert re.search("Fake eeg:2@100  .*plain", seen) and re.search("Fake eeg:2@100 markers .*REFUSED", seen), seen
    finally:
        device.terminate()
        device.communicate()


def test_from_thirty_days_on_a_certificate_is_announced(tmp_path, network):  # noqa: F811
    control, eeg = (Machine(tmp_path / name) for name in ("control", "eeg"))
    in_network([control, eeg], network, tmp_path)
    control.follows("schwann keys init --unprotected")
    made = eeg.follows("schwann keys new-device 'EEG room' --unprotected")
    issued = control.follows(next_command(made, "issue") + " --yes --days 20")
    eeg.follows("schwann keys trust", pasted(issued))
    for line in ("schwann --once", "schwann record Nothing --seconds 1 -o nothing.xdf", "schwann keys status", "schwann doctor"):
        _, screen = eeg.types(line)
        assert re.search(r"\b(19|20) days\b", screen), (line, screen)
    assert "EXPIRES" not in control.follows("schwann keys status")


def test_a_slip_in_a_word_costs_no_try(tmp_path, network):  # noqa: F811
    control, guest = (Machine(tmp_path / name) for name in ("control", "guest"))
    in_network([control, guest], network, tmp_path)
    control.follows("schwann keys init --unprotected")
    invitation = Invitation(control, "schwann keys invite", [])
    words = invitation.words.get(timeout=PATIENCE)
    slips = [("The six words: ", words + "x"), ("The six words: ", words.rpartition(" ")[0]), ("The six words: ", words.upper())]
    assert "The key is open" not in guest.follows("schwann keys join --unprotected", slips)
    code, invited = invitation.ends()
    assert code == 0 and "tries left" not in invited


def test_a_slip_in_a_new_passphrase_is_noticed(tmp_path):
    place = Machine(tmp_path / "slips")
    slip = [("a passphrase for", "correct hrose"), ("the same once more", "correct horse")]
    founded = place.follows("schwann keys init", [*slip, *TWICE])
    assert place.follows(next_command(founded, "unlock"), ONCE)
    nobody = Machine(tmp_path / "gives up")
    code, text = nobody.types("schwann keys init", slip * 3)
    assert code == 3 and "nothing was written" in text and not (nobody.folder / ".config").exists()
    code, text = nobody.types("schwann keys init", [("a passphrase for", "")])
    assert code == 3 and "must not be empty" in text and not (nobody.folder / ".config").exists()


def test_a_passphrase_is_not_shown_while_it_is_typed(tmp_path):
    place = Machine(tmp_path / "quiet")
    founded = place.follows("schwann keys init", TWICE)
    assert "horse" not in place.before + founded
    code, text = place.types("schwann keys unlock", [("passphrase: ", "wrong")] * 3)
    assert code == 3 and "passphrase" in text and "wrong\n" not in text
