"""Inlets: clock probes and the processing of stamps."""

import ctypes as C
import re
import socket
import threading
import time

from .codec import pattern_values, sample_110
from .inlets import RawServer, response_header
from .record import read_request
from .scenario import scenario


@scenario("time-correction probes of an inlet: format, spacing and the resulting estimate")
def inlet_timedata(library, record):
    s = RawServer()
    info, x = s.info(library)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error, rt, un = C.c_int32(0), C.c_double(0), C.c_double(0)
    res = {}

    def ask():
        res["tc"] = library.c.lsl_time_correction_ex(inlet, C.byref(rt), C.byref(un), 5.0, C.byref(error))
        res["t"] = time.monotonic()

    thread = threading.Thread(target=ask)
    t_start = time.monotonic()
    thread.start()
    times, waves, off = [], [], 1000.0
    s.u.settimeout(2.5)
    while len(times) < 16:
        try:
            d, a = s.u.recvfrom(2048)
        except socket.timeout:
            break
        t1 = library.c.lsl_local_clock() + off
        times.append(time.monotonic() - t_start)
        m = re.match(rb"LSL:timedata\r\n(\d+) ([^\r]*)\r\n$", d)
        waves.append(m.group(1).decode())
        reply = b" %s %s %.16g %.16g" % (m.group(1), m.group(2), t1, library.c.lsl_local_clock() + off)
        s.u.sendto(reply, a)
        if len(times) <= 2:
            record.frm(
                "udp",
                d,
                "probe %d" % len(times),
                [
                    {"offset": m.start(1), "length": len(m.group(1)), "what": "wave id"},
                    {"offset": m.start(2), "length": len(m.group(2)), "what": "t0"},
                ],
            )
            record.to(
                "udp",
                reply,
                "answer with a clock that is 1000 s ahead",
                [{"offset": 0, "length": len(reply), "what": "all numbers"}],
            )
    thread.join()
    record.checks.update(
        errcode=error.value,
        time_correction_rounded=round(res["tc"], 2),
        uncertainty_below_10ms=un.value < 0.01,
        remote_time_is_remote_clock=abs(rt.value - off - library.c.lsl_local_clock()) < 10,
        first_result_after_s=round(res["t"] - t_start, 2),
        probe_times_s=[round(t, 3) for t in times],
        distinct_wave_ids=len(set(waves)),
        probes_seen=len(times),
    )
    library.c.lsl_destroy_inlet(inlet)


@scenario("time-correction with lost probes: 5 answers of 8 give no estimate, 6 do")
def inlet_timedata_min_probes(library, record):
    s = RawServer()
    info, x = s.info(library)
    for answered in (5, 6):
        inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
        error, rt, un = C.c_int32(0), C.c_double(0), C.c_double(0)
        stop = []

        def serve():
            s.u.settimeout(0.1)
            cnt = {}
            while not stop:
                try:
                    d, a = s.u.recvfrom(2048)
                except socket.timeout:
                    continue
                w, t0 = d.split(b"\r\n")[1].split(b" ")
                cnt[w] = cnt.get(w, 0) + 1
                if cnt[w] <= answered:
                    t = b"%.16g" % (library.c.lsl_local_clock() + 5)
                    s.u.sendto(b" " + w + b" " + t0 + b" " + t + b" " + t, a)

        thread = threading.Thread(target=serve)
        thread.start()
        tc = library.c.lsl_time_correction_ex(inlet, C.byref(rt), C.byref(un), 1.0, C.byref(error))
        stop.append(1)
        thread.join()
        record.checks["answered_%d_of_8" % answered] = {"errcode": error.value, "time_correction_rounded": round(tc, 2)}
        library.c.lsl_destroy_inlet(inlet)


def dejitter_ref(stamps, rate, halftime=90.0):
    """Independent re-statement of the recursive least squares filter (see lsl-protocol.md)."""
    base = float(int(stamps[0]))
    lam = 2.0 ** (-1.0 / (rate * halftime))
    w0, w1, p00, p11, p01, n, out = 0.0, 1.0 / rate, 1e10, 1e10, 0.0, 0, []
    for t in stamps:
        t -= base
        u = float(n)
        n += 1
        pi0, pi1 = p00 + u * p01, p01 + u * p11
        err = t - (w0 + u * w1)
        g = 1.0 / (lam + pi0 + pi1 * u)
        p00, p01, p11 = (p00 - pi0 * pi0 * g) / lam, (p01 - pi0 * pi1 * g) / lam, (p11 - pi1 * pi1 * g) / lam
        w0, w1 = w0 + err * (p00 + p01 * u), w1 + err * (p01 + p11 * u)
        out.append(w0 + u * w1 + base)
    return out


def postproc(library, record, flags, stamps, halftime=None, ref=None, clock=0.0):
    s = RawServer()
    info, x = s.info(library, format="int8", channels=1)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    library.c.lsl_set_postprocessing.argtypes = [C.c_void_p, C.c_uint32]
    library.c.lsl_smoothing_halftime.argtypes = [C.c_void_p, C.c_float]
    if halftime:
        library.c.lsl_smoothing_halftime(inlet, halftime)
    library.c.lsl_set_postprocessing(inlet, flags)
    stop = []

    def timeserver():
        s.u.settimeout(0.1)
        while not stop:
            try:
                d, a = s.u.recvfrom(2048)
            except socket.timeout:
                continue
            w, t0 = d.split(b"\r\n")[1].split(b" ")
            t = b"%.16g" % (library.c.lsl_local_clock() + clock)
            s.u.sendto(b" " + w + b" " + t0 + b" " + t + b" " + t, a)

    ts = threading.Thread(target=timeserver)
    ts.start()
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 5.0, C.byref(error)))
    thread.start()
    c = s.accept()
    read_request(c)
    c.sendall(
        response_header() + b"".join(sample_110("int8", pattern_values("int8", 1, o), 123456.789) for o in (4, 2))
    )
    thread.join()
    c.sendall(b"".join(sample_110("int8", [0], t) for t in stamps))
    got = [float(library.pull(inlet, "int8", 1, 6.0)["timestamp"]) for _ in stamps]
    stop.append(1)
    ts.join()
    record.checks["flags"], record.checks["input"], record.checks["output"] = (
        flags,
        [repr(v) for v in stamps],
        [repr(v) for v in got],
    )
    if ref:
        record.checks["max_abs_difference_to_script"] = max(abs(a - b) for a, b in zip(got, ref))
        record.checks["output_matches_script"] = record.checks["max_abs_difference_to_script"] < 1e-9
    library.c.lsl_destroy_inlet(inlet)


def jittered(n, rate=100.0, t0=5000.25):
    out, x = [], 12345
    for k in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(t0 + k / rate + (x / 2**31 - 0.5) * 0.004)
    return out


@scenario("post-processing: proc_dejitter on 300 jittered stamps at 100 Hz, halftime 90 s")
def inlet_postproc_dejitter(library, record):
    st = jittered(300)
    postproc(library, record, 2, st, ref=dejitter_ref(st, 100.0))


@scenario("post-processing: proc_dejitter, halftime 1 s set before the first sample")
def inlet_postproc_dejitter_halftime1(library, record):
    st = jittered(300)
    postproc(library, record, 2, st, 1.0, dejitter_ref(st, 100.0, 1.0))


@scenario("post-processing: proc_monotonize")
def inlet_postproc_monotonize(library, record):
    st = [2.0, 3.1, 3.0, 5.0, 4.0, 5.9, 7.1]
    postproc(library, record, 4, st, ref=[2.0, 3.1, 3.1, 5.0, 5.0, 5.9, 7.1])


@scenario(
    "post-processing: proc_dejitter on stamps below 1.0 (the filter restarts at every sample while the integer part is 0)"
)
def inlet_postproc_dejitter_below_one(library, record):
    st = [0.5, 0.511, 0.519, 0.53]
    postproc(library, record, 2, st, ref=[dejitter_ref([t], 100.0)[0] for t in st])


@scenario("post-processing: proc_clocksync with a sender clock 1000 s ahead (stamps come back about 1000 s lower)")
def inlet_postproc_clocksync(library, record):
    st = [2000.0, 2000.01, 2000.02]
    postproc(library, record, 1, st, clock=1000.0)
    record.checks["output_minus_input_rounded"] = [round(float(b) - a, 1) for a, b in zip(st, record.checks["output"])]
    record.checks["output"] = "varies by the measured clock offset"
