"""What cells of a notebook show: writes a page with a stream's table and a small plot: notebook.py PAGE.html"""

import pathlib
import sys

import schwann

eeg = schwann.resolve(type="EEG", timeout=10)[0]
with eeg.open() as stream:
    stream.pull(250, timeout=10)
    print(len(eeg.channels), "channels")
    # In a notebook, `stream` as the last line of a cell does the same.
    page = stream._repr_html_()
pathlib.Path(sys.argv[1]).write_text(f"<!doctype html><meta charset=utf-8>{page}", encoding="utf-8")
print(f"{sys.argv[1]}: {page.count('<tr>')} rows of tables, {page.count('<polyline')} lines of a plot")
