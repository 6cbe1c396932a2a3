// Reads the frames of the module (see crates/web/README.md).
'use strict';

const Frame = {
  CLOCK: 0, SAMPLES: 1, LINKS: 2, EVENTS: 3, SENDS: 4, ACKS: 5, PACKETS: 6, FLOWS: 7, BELIEF: 8, FORECAST: 9, SPROUT: 10,

  // Kinds of events.
  DROPPED: 0, LOST: 1, MARKED: 2, STARTED: 3, STOPPED: 4, RETRANSMITTED: 5,

  // What holds a send back.
  HELD_BY: ['window', 'pace', 'data', 'off'],

  /** Calls `visit(kind, rows, columns, values)` for each section. */
  each(frame, visit) {
    for (let at = 0; at + 3 <= frame.length;) {
      const [kind, rows, columns] = [frame[at], frame[at + 1], frame[at + 2]];
      at += 3;
      visit(kind, rows, columns, frame.subarray(at, at + rows * columns));
      at += rows * columns;
    }
  },

  /** The rows of section 7 as objects. */
  flows(rows, columns, values) {
    const names = ['lane', 'flow', 'on', 'inFlight', 'window', 'intersend', 'rtt', 'rule', 'heldBy', 'throughput',
      'ideal', 'meanOverIdeal', 'period', 'rampUp', 'byWindow', 'byPace'];
    return Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(names.map((name, column) => [name, values[row * columns + column]])));
  },
};
