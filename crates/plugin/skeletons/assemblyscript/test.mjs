// Tests of the module, in Node.
import assert from "node:assert";
import { readFileSync } from "node:fs";

const module = await WebAssembly.instantiate(readFileSync("mine.wasm"), {});
const { memory, exm_abi_1, on_start, on_ack, on_congestion } = module.instance.exports;
const block = exm_abi_1();
const set = (offset, value) => new DataView(memory.buffer).setBigUint64(block + offset, BigInt(value), true);
const cwnd = () => Number(new DataView(memory.buffer).getBigUint64(block + 200, true));

set(104, 10); // the initial window
on_start();
assert.equal(cwnd(), 10);
set(0, 100_000_000); // now
set(40, 1); // acked
on_ack();
assert.equal(cwnd(), 11);
on_congestion(); // of kind 0: lost
assert.equal(cwnd(), 5);
on_congestion(); // once a round trip
assert.equal(cwnd(), 5);
console.log("ok");
