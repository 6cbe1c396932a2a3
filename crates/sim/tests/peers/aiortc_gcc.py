"""Runs the Google Congestion Control of aiortc over a script of packets.

python3 aiortc_gcc.py FOLDER SCRIPT: of aiortc in FOLDER, only the module `rate` is loaded. Each line of SCRIPT is a packet: when
it was sent and when it arrived, in ms, and its size in bytes. Prints its estimate after each, in bits a second; 0 before the first.
"""

import importlib.util
import sys
import types

folder, script = sys.argv[1:]

# Of the package, `rate` needs two functions, and the package itself needs codecs.
utils = types.ModuleType("aiortc.utils")
utils.uint32_add = lambda a, b: (a + b) & 0xFFFFFFFF
utils.uint32_gt = lambda a, b: (a > b and a - b < 1 << 31) or (a < b and b - a > 1 << 31)
sys.modules["aiortc"] = types.ModuleType("aiortc")
sys.modules["aiortc.utils"] = utils
spec = importlib.util.spec_from_file_location("aiortc.rate", f"{folder}/aiortc/rate.py")
rate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rate)

estimator = rate.RemoteBitrateEstimator()
estimate = 0
with open(script) as packets:
    for packet in packets:
        sent, arrived, size = map(int, packet.split())
        # The header extension abs-send-time: 24 bits, of which 18 are fractions of a second.
        stamp = ((sent << 18) // 1000) & 0xFFFFFF
        found = estimator.add(arrived, stamp, size, 1)
        if found is not None:
            estimate = found[0]
        print(estimate)
