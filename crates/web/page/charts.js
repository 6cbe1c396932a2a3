// The charts of a lane: packets in flight, events, queue, throughput and RTT over one axis of time.
'use strict';

const Charts = (() => {
  // Bits of a packet, to show packets delivered as a rate.
  const PACKET_BITS = 12000;
  const PANELS = [
    { name: 'inFlight', title: 'Packets in flight', share: 0.5, lines: inFlight, marks: true },
    { name: 'queue', title: 'Queue, packets', share: 0.15, lines: queue, limit: true },
    { name: 'throughput', title: 'Throughput, Mbps', share: 0.19, lines: throughput },
    { name: 'rtt', title: 'RTT, ms', share: 0.16, lines: rtt },
  ];
  // The rows of the band of events: their kinds and their name.
  const EVENTS = [
    { kinds: [Frame.DROPPED, Frame.LOST], name: 'lost' },
    { kinds: [Frame.MARKED], name: 'marked' },
    { kinds: [Frame.RETRANSMITTED], name: 'resent' },
  ];
  // The maximum of each panel's axis, per lane, and the largest values drawn last, from which the next ones follow.
  let scales = new Map();
  let largest = new Map();

  /** The lines of a panel: each a series, a function from a row to its value, a colour and, of a flow, its number. */
  function ofFlows(lane, valueOf) {
    return lane.flows.flatMap((series, flow) =>
      series && series.length ? [{ series, flow, value: valueOf(series), colour: Drawing.flow(flow) }] : []);
  }

  function ofLinks(lane, column, factor) {
    return lane.links.flatMap((series, link) => (series && series.length
      ? [{ series, link, value: (row) => series.at(row, column) * factor, colour: Drawing.colours.quiet }] : []));
  }

  function inFlight(lane) {
    const lines = ofFlows(lane, (series) => (row) => series.at(row, History.IN_FLIGHT));
    const ideal = lane.flows.find((series) => series && series.length && isCurrent(series));
    if (ideal) {
      const value = (row) => ideal.at(row, History.IDEAL);
      lines.push({ series: ideal, value, colour: Drawing.colours.ink, dash: [5, 4], label: 'ideal', thin: true });
    }
    return lines;
  }

  function queue(lane) {
    return ofLinks(lane, History.WAITING, 1).map((line) => ({ ...line, filled: true, colour: Drawing.colours.neutral }));
  }

  function throughput(lane) {
    const names = State.description.links.map(({ name }) => name);
    const label = (link) => (names.length > 1 ? names[link].slice(0, 8) : 'link');
    const links = ofLinks(lane, History.RATE, 1e-6)
      .map((line) => ({ ...line, dash: [5, 4], thin: true, label: label(line.link) }));
    return [...ofFlows(lane, rateOf), ...links];
  }

  function rtt(lane) {
    return ofFlows(lane, (series) => (row) => series.at(row, History.RTT) * 1e3);
  }

  /** Throughput in Mbps over about a 40th of the window. Rows are best asked for in order. */
  function rateOf(series) {
    const lag = Math.max(State.seconds / 40, 0.02);
    let behind = 0;
    return (row) => {
      const time = series.at(row, 0);
      if (behind >= row) behind = Math.max(0, series.upTo(time - lag) - 1);
      while (behind < row && series.at(behind + 1, 0) <= time - lag) behind++;
      const packets = series.at(row, History.DELIVERED) - series.at(behind, History.DELIVERED);
      const seconds = time - series.at(behind, 0);
      return seconds > 0 && packets >= 0 ? packets * PACKET_BITS * 1e-6 / seconds : NaN;
    };
  }

  /** Whether a flow has been sampled just now. */
  function isCurrent(series) {
    const last = series.at(series.length - 1, 0);
    return State.history.now - last < Math.max(4 * State.interval, State.seconds / 100);
  }

  function firstVisible(series, from) {
    return Math.max(0, series.upTo(from) - 1);
  }

  /** Fits the axes to what has been drawn; tells whether one of them has changed. */
  function fitScales() {
    const lanes = State.description.lanes.map((_, lane) => lane);
    let changed = false;
    for (const { name } of PANELS) {
      const values = lanes.map((lane) => largest.get(`${name} ${lane}`) || 0);
      const shared = Math.max(...values);
      for (const lane of lanes) {
        const key = `${name} ${lane}`;
        const before = scales.get(key) || 0;
        scales.set(key, Drawing.scale(before, State.sameScale ? shared : values[lane]));
        changed ||= scales.get(key) !== before;
      }
    }
    return changed;
  }

  /** Where the panels are on a canvas of this size. */
  function layout(width, height) {
    const em = Drawing.size;
    const left = em * 3.1;
    const right = width - em * 3.6;
    const band = em * 2.2;
    const title = em * 1.7;
    const room = height - PANELS.length * title - band - em * 1.7;
    let top = 0;
    const panels = PANELS.map((panel, index) => {
      const [y0, y1] = [top + title, top + title + room * panel.share];
      top = y1 + (index === 0 ? band : 0);
      return { ...panel, top: y0, bottom: y1 };
    });
    return { left, right, panels, band: { top: panels[0].bottom + 3, bottom: panels[0].bottom + band } };
  }

  function drawAxis(context, { left, right }, panel, most) {
    const { colours, size } = Drawing;
    const y = (value) => panel.bottom - (panel.bottom - panel.top) * (value / most);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    const count = Math.max(1, Math.min(5, Math.floor((panel.bottom - panel.top) / (size * 2.4))));
    for (const tick of Drawing.ticks(0, most, count)) {
      const at = Math.round(y(tick)) + 0.5;
      context.moveTo(left, at);
      context.lineTo(right, at);
      Drawing.text(context, Units.number(tick), left - 6, at, colours.quiet, 'right', 'middle');
    }
    context.stroke();
    Drawing.text(context, panel.title, left, panel.top - size * 0.45, colours.ink);
    return y;
  }

  function drawTimes(context, { left, right, panels }, from, to, x) {
    const bottom = panels[panels.length - 1].bottom;
    const count = Math.max(2, Math.floor((right - left) / (Drawing.size * 7)));
    for (const time of Drawing.ticks(Math.max(0, from), to, count)) {
      if (x(time) > left - 1) {
        const words = `${Number(time.toFixed(6))} s`;
        Drawing.text(context, words, x(time), bottom + Drawing.size * 1.3, Drawing.colours.quiet, 'center');
      }
    }
  }

  function drawLine(context, line, view) {
    const { series, value, colour, dash, thin, filled } = line;
    const first = firstVisible(series, view.from);
    context.beginPath();
    const most = Drawing.trace(context, series, first, value, view.x, view.y, view.perPixel);
    view.most = Math.max(view.most, most);
    context.strokeStyle = colour;
    context.lineWidth = thin ? 1.2 : filled ? 1.5 : 2;
    context.setLineDash(dash || []);
    context.stroke();
    context.setLineDash([]);
    if (filled) drawFilling(context, line, view);
    if (line.flow !== undefined && view.marked) drawMarks(context, line, view);
  }

  function drawFilling(context, { series, colour }, { x, bottom, from }) {
    const first = series.at(firstVisible(series, from), 0);
    context.lineTo(x(series.at(series.length - 1, 0)), bottom);
    context.lineTo(x(Math.max(first, from)), bottom);
    context.globalAlpha = 0.25;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }

  /** Shapes along a flow's line, at fixed times, so that they move with it. */
  function drawMarks(context, { series, flow, value, colour }, { x, y, from }) {
    const every = State.seconds / 4;
    context.beginPath();
    for (let turn = Math.ceil(from / every); ; turn++) {
      const time = (turn + flow / 8) * every;
      const row = series.upTo(time);
      if (row >= series.length) break;
      if (row > 0 && series.at(row, 0) - time < every / 8 && value(row) === value(row)) {
        Drawing.mark(context, flow, x(series.at(row, 0)), y(value(row)), 3.6);
      }
    }
    context.fillStyle = colour;
    context.fill();
  }

  /** Labels at the right end of lines. */
  function drawLabels(context, lines, view, panel) {
    const labels = [];
    for (const { series, flow, value, label, colour } of lines) {
      if ((label === undefined && flow === undefined) || !isCurrent(series)) continue;
      const now = value(series.length - 1);
      if (now === now) labels.push({ y: view.y(now), flow, label, colour });
    }
    const gap = Drawing.size * 1.4;
    const fits = labels.length * gap <= panel.bottom - panel.top + gap;
    const shown = fits ? labels : labels.filter(({ flow }) => flow === undefined);
    Drawing.spread(shown, gap, panel.top, panel.bottom - gap / 4);
    for (const { y, flow, label } of shown) {
      if (flow === undefined) Drawing.text(context, label, view.right + 5, y, Drawing.colours.ink, 'left', 'middle');
      else Drawing.badge(context, flow, view.right + Drawing.size, y);
    }
  }

  function drawLimit(context, layout, panel, y, most) {
    const [link] = State.description.links;
    if (!panel.limit || !link || link.buffer_packets === null) return;
    const words = `limit ${Units.number(link.buffer_packets)}`;
    const { quiet, alarm } = Drawing.colours;
    if (link.buffer_packets <= most) {
      context.strokeStyle = alarm;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(layout.left, y(link.buffer_packets));
      context.lineTo(layout.right, y(link.buffer_packets));
      context.stroke();
    }
    const room = layout.right - layout.left - context.measureText(panel.title).width - Drawing.size;
    if (context.measureText(words).width > room) return;
    Drawing.text(context, words, layout.right, panel.top - Drawing.size * 0.45, quiet, 'right');
  }

  /** Ticks for what was lost, marked and sent again, in the colour of its flow. */
  function drawEvents(context, events, { band, left, right }, view) {
    const height = (band.bottom - band.top) / EVENTS.length;
    const first = events.upTo(view.from);
    EVENTS.forEach(({ kinds, name }, index) => {
      const top = band.top + index * height;
      const drawn = new Set();
      for (let row = first; row < events.length; row++) {
        const kind = events.at(row, 2);
        if (!kinds.includes(kind)) continue;
        const at = Math.round(view.x(events.at(row, 0)));
        if (at < left || drawn.has(at)) continue;
        drawn.add(at);
        context.fillStyle = Drawing.flow(events.at(row, 1));
        context.fillRect(at, top + 1, 1.6, height - 2);
        if (kind === Frame.LOST) context.clearRect(at, top + height / 2 - 0.75, 1.6, 1.5);
      }
      if (drawn.size) Drawing.text(context, name, right + 5, top + height / 2, Drawing.colours.quiet, 'left', 'middle');
    });
  }

  /** The recorded changes, across all panels. */
  function drawChanges(context, { left, right, panels }, view) {
    const shown = State.description.changes.filter(({ at }) => at >= view.from && at <= State.history.now + 1e-9);
    context.strokeStyle = Drawing.colours.accent;
    context.lineWidth = 1;
    context.setLineDash([1, 3]);
    context.beginPath();
    for (const { at } of shown) {
      const x = Math.round(view.x(at)) + 0.5;
      context.moveTo(x, panels[0].top);
      context.lineTo(x, panels[panels.length - 1].bottom);
    }
    context.stroke();
    context.setLineDash([]);
    drawChangeTexts(context, shown, { left, right, top: panels[0].top }, view);
  }

  /** The texts of changes, the latest first, each in the first row where there is room for it. */
  function drawChangeTexts(context, changes, { left, right, top }, view) {
    const rows = [[], [], []];
    for (const { at, text } of [...changes].reverse()) {
      const words = shortened(text);
      const width = context.measureText(words).width + 8;
      const x = view.x(at);
      const begin = right - x > width ? x : x - width;
      const row = rows.findIndex((taken) => taken.every((other) => begin > other.end || begin + width < other.begin));
      if (row < 0 || begin < left) continue;
      rows[row].push({ begin, end: begin + width });
      Drawing.text(context, words, begin + 4, top + Drawing.size * (1 + 1.3 * row), Drawing.colours.accent);
    }
  }

  /** A change as few words: `rate 5Mbps`. */
  function shortened(text) {
    const words = text.replace(',', ' ');
    return words.length > 26 ? `${words.slice(0, 25)}…` : words;
  }

  function drawLane(canvas, index, from, to) {
    const ready = Drawing.prepare(canvas);
    if (!ready) return;
    const { context, width, height } = ready;
    const place = layout(width, height);
    const { left, right } = place;
    const x = (time) => left + (right - left) * ((time - from) / (to - from));
    const view = { x, from, right, perPixel: (to - from) / (right - left) };
    const lane = State.history.lane(index);
    place.panels.forEach((panel) => {
      const key = `${panel.name} ${index}`;
      const most = scales.get(key) || 1;
      const y = drawAxis(context, place, panel, most);
      const lines = panel.lines(lane);
      const marked = panel.marks && lines.filter(({ flow }) => flow !== undefined).length > 1;
      const here = { ...view, y, bottom: panel.bottom, marked, most: 0 };
      context.save();
      context.beginPath();
      context.rect(left, panel.top - 2, right - left, panel.bottom - panel.top + 3);
      context.clip();
      lines.forEach((line) => drawLine(context, line, here));
      context.restore();
      largest.set(key, here.most);
      drawLimit(context, place, panel, y, most);
      drawLabels(context, lines, here, panel);
    });
    drawEvents(context, lane.events, place, view);
    drawTimes(context, place, from, to, x);
    drawChanges(context, place, view);
  }

  return {
    rateOf,

    /** Draws the charts of all lanes on `canvases`; tells whether they are to be drawn again, with other axes. */
    draw(canvases) {
      const to = Math.max(State.history.now, State.seconds);
      canvases.forEach((canvas, index) => drawLane(canvas, index, to - State.seconds, to));
      return fitScales();
    },
  };
})();
