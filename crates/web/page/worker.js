// The worker: holds the module, executes commands, and simulates a little at a time.
'use strict';

// Packets between two looks at the clock.
const PACKETS = 400;

let module = null;

async function load(base64) {
  const compressed = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = await new Response(stream).arrayBuffer();
  module = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  return {};
}

function call(command) {
  const text = new TextEncoder().encode(JSON.stringify(command));
  const at = module.exm_buffer(text.length);
  new Uint8Array(module.memory.buffer, at, text.length).set(text);
  const length = module.exm_call(text.length);
  const answer = new Uint8Array(module.memory.buffer, module.exm_answer(), length);
  return JSON.parse(new TextDecoder().decode(answer));
}

/** Simulates up to `until`, for at most `budget` ms of real time. */
function advance({ until, interval, budget }) {
  const begin = performance.now();
  let now = module.exm_advance(until, interval, PACKETS);
  let stuck = 0;
  while (now < until && stuck < 2 && performance.now() - begin < budget) {
    const next = module.exm_advance(until, interval, PACKETS);
    stuck = next > now ? 0 : stuck + 1;
    now = next;
  }
  const length = module.exm_frame();
  const frame = new Float64Array(module.memory.buffer, module.exm_frame_data(), length).slice();
  return { now, frame };
}

async function execute({ load: base64, command, advance: request }) {
  if (base64 !== undefined) return load(base64);
  return command ? call(command) : advance(request);
}

onmessage = async ({ data }) => {
  try {
    const result = await execute(data);
    postMessage({ id: data.id, result }, result.frame ? [result.frame.buffer] : []);
  } catch (error) {
    postMessage({ id: data.id, failure: String(error && error.message || error) });
  }
};
