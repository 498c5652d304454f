"""Labs of several devices, made by `schwann keys` as people make them."""

import os
import subprocess

PROGRAM = os.environ.get("SCHWANN_PROGRAM")


def keys(folder, *arguments, said="", **environment):
    """Runs `schwann keys` in a key folder, lets it read what was said, and returns what it prints."""
    done = subprocess.run([PROGRAM, "keys", *arguments, "--unprotected"], check=True, text=True, stdout=subprocess.PIPE, input=said,
                          env=dict(os.environ, SCHWANN_KEYS=str(folder), **environment))
    return done.stdout


def new_lab(folder, name="authority"):
    """A lab whose authority is a device of it, too."""
    keys(folder, "init", "--name", name)
    return folder


def new_device(lab, folder, name):
    """A device of the lab with keys of its own; returns its serial."""
    request = last_word(keys(folder, "new-device", name), "keys issue")
    issued = keys(lab, "issue", "--yes", request)
    keys(folder, "trust", said=issued)
    return next(line.split()[1] for line in issued.splitlines() if line.startswith("Certificate "))


def last_word(text, of_line_with):
    return next(line for line in text.splitlines() if of_line_with in line).split()[-1]
