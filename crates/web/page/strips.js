// The watched flow over time: what held its sends back, and its window, pace and signals.
'use strict';

const Strips = (() => {
  const HELD = ['window', 'pace', 'data'];
  // About so many rows of a signal are drawn.
  const SIGNAL_ROWS = 1200;
  let heldKeys = [];

  /** What held the sends of each pixel column back, as parts of a coloured column. */
  function drawHeld() {
    const ready = Drawing.prepare(Dom.byId('held'));
    if (!ready) return;
    const { context, width, height } = ready;
    const { sends } = State.history;
    const to = Math.max(State.history.now, State.seconds);
    const columns = Math.max(1, Math.floor(width / 3));
    const counts = new Uint32Array(columns * 3);
    const total = [0, 0, 0];
    // Bins are aligned in time, so that they move without flicker.
    const bin = State.seconds / columns;
    const last = Math.floor(to / bin);
    for (let row = sends.upTo(to - State.seconds); row < sends.length; row++) {
      const column = Math.floor(sends.at(row, 0) / bin) - last + columns - 1;
      const held = sends.at(row, 1);
      if (column < 0 || !(held < 3)) continue;
      counts[column * 3 + held]++;
      total[held]++;
    }
    const colours = HELD.map(heldColour);
    for (let column = 0; column < columns; column++) {
      const sum = counts[column * 3] + counts[column * 3 + 1] + counts[column * 3 + 2];
      let bottom = height;
      for (let held = 0; held < 3 && sum; held++) {
        const part = height * (counts[column * 3 + held] / sum);
        context.fillStyle = colours[held];
        context.fillRect(column * 3, bottom - part, 2.6, part);
        bottom -= part;
      }
    }
    const all = total[0] + total[1] + total[2];
    heldKeys.forEach((key, held) => Dom.setText(key, Units.whole(total[held] / all)));
  }

  function heldColour(name) {
    const { grow, pace, neutral } = Drawing.colours;
    return { window: grow, pace, data: neutral }[name];
  }

  /** The rows of the chart of signals: each a name, a unit, a series and a column. */
  function signalRows() {
    const { lane, flow, table } = State.watched;
    const { acks } = State.history;
    if (table && acks && State.table) {
      const signals = State.table.signals.map(({ name, unit }, index) => ({ name, unit, series: acks, column: 4 + index, factor: 1 }));
      return [{ name: 'window', unit: 'packets', series: acks, column: 2, factor: 1 },
        { name: 'pace', unit: 'ms', series: acks, column: 3, factor: 1e3 }, ...signals];
    }
    const series = State.history.lane(lane).flows[flow];
    if (!series) return [];
    return [{ name: 'window', unit: 'packets', series, column: History.WINDOW, factor: 1 },
      { name: 'pace', unit: 'ms', series, column: History.INTERSEND, factor: 1e3 },
      { name: 'RTT', unit: 'ms', series, column: History.RTT, factor: 1e3 }];
  }

  function drawSignals() {
    const canvas = Dom.byId('signals');
    const rows = signalRows();
    canvas.style.height = `${Math.max(3, rows.length) * 2.6}rem`;
    const ready = Drawing.prepare(canvas);
    if (!ready) return;
    const { context, width, height } = ready;
    const em = Drawing.size;
    const [left, right] = [em * 7.8, width - em * 7];
    const to = Math.max(State.history.now, State.seconds);
    const from = to - State.seconds;
    const x = (time) => left + (right - left) * ((time - from) / State.seconds);
    rows.forEach((row, index) => {
      const [top, bottom] = [(height / rows.length) * index + 5, (height / rows.length) * (index + 1) - 5];
      drawSignal(context, row, { left, right, top, bottom, x, from });
    });
  }

  function drawSignal(context, { name, unit, series, column, factor }, { left, right, top, bottom, x, from }) {
    const { colours, size } = Drawing;
    const first = Math.max(0, series.upTo(from) - 1);
    const stride = Math.ceil(Math.max(1, series.length - first) / SIGNAL_ROWS);
    let [low, high] = [Infinity, -Infinity];
    for (let row = first; row < series.length; row += stride) {
      const value = series.at(row, column);
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const middle = (top + bottom) / 2;
    Drawing.text(context, name, left - 8, middle, colours.ink, 'right', 'middle');
    const value = series.length ? series.at(series.length - 1, column) * factor : NaN;
    Drawing.text(context, `${Units.number(value)} ${unit || ''}`, right + 6, middle, colours.ink, 'left', 'middle');
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(left, bottom + 0.5, right - left, 0);
    if (!(low <= high) || size < 1) return;
    const room = high > low ? high - low : 1;
    const y = (at) => bottom - (bottom - top) * ((at - low) / room);
    context.beginPath();
    Drawing.trace(context, series, first, (row) => series.at(row, column), x, y, State.seconds / (right - left), stride);
    context.strokeStyle = Drawing.flow(State.watched.flow);
    context.lineWidth = 1.5;
    context.stroke();
  }

  return {
    start() {
      heldKeys = HELD.map((name) => {
        const share = Dom.make('b', { textContent: Units.NONE });
        Dom.byId('held-shares').append(Dom.make('span', { className: `held-${name}` }, `${name} `, share));
        return share;
      });
    },

    draw() {
      drawHeld();
      drawSignals();
    },
  };
})();
