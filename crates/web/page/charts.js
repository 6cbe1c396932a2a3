// The charts of a lane: packets in flight, events, queue, throughput and RTT over one axis of time.
'use strict';

const Charts = (() => {
  // Bits of a packet, to show packets delivered as a rate.
  const PACKET_BITS = 12000;
  const PANELS = [
    { name: 'inFlight', title: 'Packets in flight', share: 0.5, lines: inFlight },
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
  let scales = new Map();

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
    const links = ofLinks(lane, History.RATE, 1e-6).map((line) => ({ ...line, dash: [5, 4], thin: true, label: 'link' }));
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

  function maximum(lines, from) {
    let most = 0;
    for (const { series, value } of lines) {
      for (let row = firstVisible(series, from); row < series.length; row++) {
        const now = value(row);
        if (now > most) most = now;
      }
    }
    return most;
  }

  /** The lines of all lanes, and the scales of their panels. */
  function collect(from) {
    const lanes = State.description.lanes.map((_, index) => {
      const lane = State.history.lane(index);
      return PANELS.map((panel) => panel.lines(lane));
    });
    const most = lanes.map((panels) => panels.map((lines) => maximum(lines, from)));
    const next = new Map();
    lanes.forEach((_, lane) => PANELS.forEach((panel, index) => {
      const value = State.sameScale ? Math.max(...most.map((ofLane) => ofLane[index])) : most[lane][index];
      const key = `${panel.name} ${lane}`;
      next.set(key, Drawing.scale(scales.get(key) || 0, value));
    }));
    scales = next;
    return lanes;
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
    Drawing.trace(context, series, first, value, view.x, view.y, view.perPixel);
    context.strokeStyle = colour;
    context.lineWidth = thin ? 1.2 : filled ? 1.5 : 2;
    context.setLineDash(dash || []);
    context.stroke();
    context.setLineDash([]);
    if (filled) drawFilling(context, line, view);
    if (line.flow !== undefined && view.several) drawMarks(context, line, view);
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
    Drawing.spread(labels, Drawing.size * 1.4, panel.top, panel.bottom);
    for (const { y, flow, label } of labels) {
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
  function drawChanges(context, { right, panels }, view) {
    const { colours, size } = Drawing;
    const shown = State.description.changes.filter(({ at }) => at >= view.from && at <= State.history.now + 1e-9);
    shown.forEach(({ at, text }, index) => {
      const x = Math.round(view.x(at)) + 0.5;
      context.strokeStyle = colours.accent;
      context.lineWidth = 1;
      context.setLineDash([1, 3]);
      context.beginPath();
      context.moveTo(x, panels[0].top);
      context.lineTo(x, panels[panels.length - 1].bottom);
      context.stroke();
      context.setLineDash([]);
      const words = text.replace(',', ' ');
      const space = right - x > context.measureText(words).width + 8;
      const y = panels[0].top + size * (1 + 1.3 * (index % 3));
      Drawing.text(context, words, x + (space ? 4 : -4), y, colours.accent, space ? 'left' : 'right');
    });
  }

  function drawLane(canvas, index, panels, from, to) {
    const ready = Drawing.prepare(canvas);
    if (!ready) return;
    const { context, width, height } = ready;
    const place = layout(width, height);
    const { left, right } = place;
    const x = (time) => left + (right - left) * ((time - from) / (to - from));
    const view = { x, from, right, perPixel: (to - from) / (right - left) };
    const lane = State.history.lane(index);
    place.panels.forEach((panel, at) => {
      const most = scales.get(`${panel.name} ${index}`);
      const y = drawAxis(context, place, panel, most);
      const lines = panels[at];
      const several = lines.filter(({ flow }) => flow !== undefined).length > 1;
      const here = { ...view, y, bottom: panel.bottom, several };
      context.save();
      context.beginPath();
      context.rect(left, panel.top - 2, right - left, panel.bottom - panel.top + 3);
      context.clip();
      lines.forEach((line) => drawLine(context, line, here));
      context.restore();
      drawLimit(context, place, panel, y, most);
      drawLabels(context, lines, here, panel);
    });
    drawEvents(context, lane.events, place, view);
    drawTimes(context, place, from, to, x);
    drawChanges(context, place, view);
  }

  return {
    rateOf,

    /** Draws the charts of all lanes on `canvases`. */
    draw(canvases) {
      const to = Math.max(State.history.now, State.seconds);
      const from = to - State.seconds;
      const lanes = collect(from);
      canvases.forEach((canvas, index) => lanes[index] && drawLane(canvas, index, lanes[index], from, to));
    },
  };
})();
