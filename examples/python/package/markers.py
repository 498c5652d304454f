"""Sends a marker for each trial, and receives them in the same program: markers.py"""

import schwann

with schwann.Outlet("Trials", "Markers") as outlet:
    with schwann.resolve(name="Trials", source_id=outlet.info.source_id)[0].open() as stream:
        outlet.wait_for_consumers()
        outlet.push("begin")
        outlet.push({"trial": 1, "side": "left"})
        outlet.push("end")
        chunk = stream.pull(3, timeout=10)
        for time, (marker,) in zip(chunk.times, chunk.data):
            print(f"{time:.6f} {marker}")
