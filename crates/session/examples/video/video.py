#!/usr/bin/python3
"""A real encoder (x264, by GStreamer) that makes each frame as large as the network says, and its comparison over Sprout, TCP Cubic
and a fixed rate on emulated links.

    video.py compare --exm EXM --video VIDEO --out DIR [LINK...]    the comparison, as a table, JSON and a picture
    video.py check                                                  names what is missing, if anything
    video.py encode SOURCE FRAMES                                   the encoder that `video send` asks
    video.py collect FILE                                           notes when each frame of `video receive` arrives

LINK is a trace of `exm cellsim`, the name of a synthetic link or a file. Needs from Debian: python3-gi, python3-numpy, ffmpeg,
gstreamer1.0-plugins-base, -good, -bad, -ugly and gstreamer1.0-libav, gir1.2-gst-plugins-base-1.0.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

WIDTH, HEIGHT, FPS = 960, 540, 25
RAW = WIDTH * HEIGHT * 3 // 2
# A gap in what is shown is a freeze if it is three frame intervals long, and 150 ms longer than one (W3C webrtc-stats).
FREEZE = max(3 / FPS, 1 / FPS + 0.15)


def pipeline(text):
    """A running pipeline of GStreamer, with its elements `in` and `out`."""
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp  # noqa: F401

    Gst.init(None)
    made = Gst.parse_launch(text)
    made.set_state(Gst.State.PLAYING)
    return Gst, made


def check(_arguments):
    """Names the packages of Debian that are missing."""
    missing = []
    try:
        import numpy  # noqa: F401
    except ImportError:
        missing.append("python3-numpy")
    try:
        import gi

        gi.require_version("Gst", "1.0")
        gi.require_version("GstApp", "1.0")
        from gi.repository import Gst, GstApp  # noqa: F401

        Gst.init(None)
        elements = {
            "appsrc": "gstreamer1.0-plugins-base",
            "x264enc": "gstreamer1.0-plugins-ugly",
            "h264parse": "gstreamer1.0-plugins-bad",
            "avdec_h264": "gstreamer1.0-libav",
        }
        missing += [package for element, package in elements.items() if not Gst.ElementFactory.find(element)]
    except (ImportError, ValueError):
        missing += ["python3-gi", "gir1.2-gst-plugins-base-1.0"]
    if not shutil.which("ffmpeg"):
        missing.append("ffmpeg")
    if missing:
        sys.exit("missing packages of Debian: " + " ".join(missing))


def source(path):
    """Draws a moving picture with much detail, a zoom into the Mandelbrot set, into `path`."""
    if not path.exists():
        picture = f"mandelbrot=size={WIDTH}x{HEIGHT}:rate={FPS}:maxiter=500"
        command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", picture, "-frames:v", "250"]
        subprocess.run([*command, "-pix_fmt", "yuv420p", "-f", "rawvideo", str(path)], check=True)


def pictures(path):
    """The pictures of the source, forwards and backwards without end: a function of a frame's number."""
    data = path.read_bytes()
    count = len(data) // RAW

    def picture(number):
        place = number % (2 * count - 2)
        place = min(place, 2 * count - 2 - place)
        return data[place * RAW : (place + 1) * RAW]

    return picture


def encode(arguments):
    """Answers each line "NUMBER BYTES" on the standard input by a frame of about that size, with the time at which it was asked."""
    picture = pictures(Path(arguments.source))
    Gst, made = pipeline(
        f"appsrc name=in format=time is-live=true caps=video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate={FPS}/1"
        " ! x264enc name=encoder tune=zerolatency speed-preset=veryfast pass=cbr bitrate=500 vbv-buf-capacity=100"
        " key-int-max=100000 threads=1 ! video/x-h264,stream-format=byte-stream,alignment=au ! appsink name=out sync=false"
    )
    encoder, into, out = (made.get_by_name(name) for name in ("encoder", "in", "out"))
    for line in sys.stdin:
        asked = time.monotonic_ns()
        number, size = (int(word) for word in line.split())
        if number >= arguments.frames:
            break
        encoder.set_property("bitrate", min(max(size * 8 * FPS // 1000, 30), 20_000))
        buffer = Gst.Buffer.new_wrapped(picture(number))
        buffer.pts = number * Gst.SECOND // FPS
        buffer.duration = Gst.SECOND // FPS
        into.emit("push-buffer", buffer)
        made_buffer = out.emit("pull-sample").get_buffer()
        frame = struct.pack(">Q", asked) + made_buffer.extract_dup(0, made_buffer.get_size())
        sys.stdout.buffer.write(struct.pack(">I", len(frame)) + frame)
        sys.stdout.buffer.flush()


def collect(arguments):
    """Writes the frames on the standard input to a file, each after its number, when it was asked for, arrived, and its size."""
    with open(arguments.file, "wb") as file:
        while header := sys.stdin.buffer.read(8):
            number, length = struct.unpack(">II", header)
            frame = sys.stdin.buffer.read(length)
            arrived = time.monotonic_ns()
            (asked,) = struct.unpack(">Q", frame[:8])
            file.write(struct.pack(">IQQI", number, asked, arrived, length - 8) + frame[8:])
            file.flush()


def arrivals(path):
    """The frames of `collect`, as (number, asked, arrived, data) with times in seconds."""
    data, place, frames = Path(path).read_bytes(), 0, []
    while place + 24 <= len(data):
        number, asked, arrived, length = struct.unpack(">IQQI", data[place : place + 24])
        place += 24
        frames.append((number, asked / 1e9, arrived / 1e9, data[place : place + length]))
        place += length
    return frames


def qualities(frames, picture):
    """The PSNR of the luminance of each decoded frame, in dB."""
    import numpy

    Gst, made = pipeline(
        "appsrc name=in format=time caps=video/x-h264,stream-format=byte-stream,alignment=au ! h264parse ! avdec_h264 max-threads=1"
        " ! videoconvert ! video/x-raw,format=I420 ! appsink name=out sync=false max-buffers=4"
    )
    into, out = made.get_by_name("in"), made.get_by_name("out")
    values, numbers = [], [frame[0] for frame in frames]
    luminance = WIDTH * HEIGHT

    def measure(sample):
        number = numbers[len(values)]
        shown = numpy.frombuffer(sample.get_buffer().extract_dup(0, luminance), numpy.uint8)
        original = numpy.frombuffer(picture(number)[:luminance], numpy.uint8)
        error = numpy.mean((shown.astype(float) - original) ** 2)
        values.append(10 * numpy.log10(255**2 / max(error, 1e-3)))

    for number, _, _, data in frames:
        buffer = Gst.Buffer.new_wrapped(data)
        buffer.pts = number * Gst.SECOND // FPS
        into.emit("push-buffer", buffer)
        while sample := out.emit("try-pull-sample", 0):
            measure(sample)
    into.emit("end-of-stream")
    while sample := out.emit("pull-sample"):
        measure(sample)
    return values


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def report(path, frames_due, picture):
    """What the receiver saw."""
    frames = arrivals(path)
    # A frame that comes after a later one is not shown.
    shown, last = [], -1
    for frame in frames:
        if frame[0] > last:
            shown.append(frame)
            last = frame[0]
    if not shown:
        return {"frames": 0}
    delays = [(arrived - asked) * 1e3 for _, asked, arrived, _ in shown]
    gaps = [b[2] - a[2] for a, b in zip(shown, shown[1:])]
    frozen = [gap for gap in gaps if gap >= FREEZE]
    seconds = frames_due / FPS
    values = qualities(shown, picture)
    return {
        "frames": len(shown),
        "frames_shown_percent": 100 * len(shown) / frames_due,
        "mbps": sum(len(frame[3]) for frame in shown) * 8e-6 / seconds,
        "delay_median_ms": statistics.median(delays),
        "delay_p95_ms": percentile(delays, 0.95),
        "freezes": len(frozen),
        "frozen_percent": 100 * sum(frozen) / seconds,
        "psnr_db": statistics.mean(values) if values else float("nan"),
        "delays_ms": [[round(frame[0] / FPS, 3), round(delay, 1)] for frame, delay in zip(shown, delays)],
    }


def run(carrier, link, arguments, out, environment):
    """Sends video over `link` by `carrier`. Returns the file with what arrived."""
    name = carrier.split(":")[0]
    arrived = out / f"{Path(link).name}-{name}.frames"
    port = "60917"
    receiver = subprocess.Popen([arguments.video, "receive", name, port], stdout=subprocess.PIPE, env=environment)
    collector = subprocess.Popen([sys.executable, __file__, "collect", str(arrived)], stdin=receiver.stdout)
    receiver.stdout.close()
    frames = str(arguments.seconds * FPS)
    encoder = [sys.executable, __file__, "encode", str(out / "source.yuv"), frames]
    send = f'exec "{arguments.video}" send {carrier} "$EXM_PEER:{port}" {" ".join(encoder)}'
    cellsim = [arguments.exm, "cellsim", "--up", link, "--down", link, "--quiet", "--", "sh", "-c", send]
    try:
        subprocess.run(cellsim, check=True, env=environment, timeout=arguments.seconds + 60)
    finally:
        receiver.terminate()
        receiver.wait()
        collector.wait()
    return arrived


def mean_rate(exm, link):
    """The mean rate of a link, in Mbps."""
    shown = subprocess.run([exm, "trace", "info", link, "--json"], check=True, capture_output=True, text=True)
    return json.loads(shown.stdout)["traces"][0]["capacity_mbps"]


def trace(exm, link, out):
    """The file of a link: itself, or a synthetic trace made for its name."""
    if Path(link).exists():
        return link
    made = out / f"{link}.trace"
    if not made.exists():
        subprocess.run([exm, "trace", "generate", link, "--duration", "3min", "-o", str(made)], check=True, stdout=subprocess.DEVNULL)
    return str(made)


def draw(results, path):
    """The delay of each frame over time, a panel for each link, as SVG."""
    colours = {"sprout": "#0072b2", "tcp": "#d55e00", "fixed": "#009e73"}
    width, height, left = 760, 200, 60
    seconds = max(time for r in results for time, _ in r.get("delays_ms", [[1, 1]]))
    links = list(dict.fromkeys(r["link"] for r in results))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 90} {(height + 60) * len(links)}"'
             ' font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    def at(row, second, delay):
        import math
        level = (math.log10(min(max(delay, 10), 10_000)) - 1) / 3
        return left + second / seconds * width, row * (height + 60) + 30 + height * (1 - level)
    for row, link in enumerate(links):
        top = row * (height + 60) + 30
        parts.append(f'<text x="{left}" y="{top - 10}">{link}: delay of frames, ms, over time, s</text>')
        for tick in (10, 100, 1000, 10_000):
            _, y = at(row, 0, tick)
            parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>'
                         f'<text x="{left - 5}" y="{y + 4:.0f}" text-anchor="end">{tick}</text>')
        for tick in range(0, int(seconds) + 1, 10):
            x, _ = at(row, tick, 10)
            parts.append(f'<text x="{x:.0f}" y="{top + height + 16}" text-anchor="middle">{tick}</text>')
        for index, result in enumerate(r for r in results if r["link"] == link):
            colour = colours[result["carrier"]]
            points = " ".join("{:.1f},{:.1f}".format(*at(row, *point)) for point in result.get("delays_ms", []))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
                         f'<text x="{left + width - 60}" y="{top + 14 + 14 * index}" fill="{colour}">{result["carrier"]}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def compare(arguments):
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    source(out / "source.yuv")
    picture = pictures(out / "source.yuv")
    key = base64.b64encode(os.urandom(16)).decode().rstrip("=")
    environment = {**os.environ, "VIDEO_KEY": key}
    results = []
    for link in (trace(arguments.exm, link, out) for link in arguments.links):
        fixed = f"udp:{mean_rate(arguments.exm, link) / 2:.3f}Mbps"
        for carrier in ("sprout", "tcp", fixed):
            name = "fixed" if carrier == fixed else carrier
            print(f"{Path(link).name}, {carrier}: {arguments.seconds} s", file=sys.stderr)
            arrived = run(carrier, link, arguments, out, environment)
            seen = report(arrived, arguments.seconds * FPS, picture)
            results.append({"link": Path(link).name, "carrier": name, "asked": carrier, **seen})
            arrived.unlink()
    (out / "video.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(results, out / "video.svg")
    keys = ["mbps", "psnr_db", "delay_median_ms", "delay_p95_ms", "frames_shown_percent", "freezes", "frozen_percent"]
    print("| link | over | Mbps | PSNR dB | delay median ms | delay 95 % ms | frames shown % | freezes | frozen % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for r in results:
        cells = [f"{r[key]:.2f}" if key == "mbps" else f"{r[key]:.0f}" if key in ("freezes",) else f"{r[key]:.1f}" for key in keys if key in r]
        print(f"| {r['link']} | {r['asked'].replace('udp:', 'fixed, ')} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("compare")
    command.add_argument("links", nargs="*", default=["lte", "umts"])
    command.add_argument("--exm", required=True)
    command.add_argument("--video", required=True)
    command.add_argument("--out", required=True)
    command.add_argument("--seconds", type=int, default=60)
    command.set_defaults(run=compare)
    command = commands.add_parser("check")
    command.set_defaults(run=check)
    command = commands.add_parser("encode")
    command.add_argument("source")
    command.add_argument("frames", type=int)
    command.set_defaults(run=encode)
    command = commands.add_parser("collect")
    command.add_argument("file")
    command.set_defaults(run=collect)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
