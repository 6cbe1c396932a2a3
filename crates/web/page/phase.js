// The phase plot of a flow without rules: RTT over packets in flight.
'use strict';

const PhasePlot = (() => {
  // The trail fades in so many steps.
  const FADES = 8;
  let scales = [0, 0];

  /** For a controller without rules: RTT over packets in flight, with the way that the flow has taken. */
  function draw() {
    const ready = Drawing.prepare(Dom.byId('phase'));
    const { lane, flow } = State.watched;
    const series = State.history.lane(lane).flows[flow];
    if (!ready || !series || !series.length) return;
    const { context, width, height } = ready;
    const { colours, size: em } = Drawing;
    const first = series.upTo(State.history.now - State.seconds);
    const [left, right, top, bottom] = [em * 3.2, width - 6, em * 2, height - em * 2.9];
    const most = [0, 0];
    for (let row = first; row < series.length; row++) {
      most[0] = Math.max(most[0], series.at(row, History.IN_FLIGHT) || 0);
      most[1] = Math.max(most[1], series.at(row, History.RTT) * 1e3 || 0);
    }
    scales = scales.map((before, axis) => Drawing.scale(before, most[axis]));
    const x = (value) => left + (right - left) * (value / scales[0]);
    const y = (value) => bottom - (bottom - top) * (value / scales[1]);
    drawAxes(context, { left, right, top, bottom, x, y });
    const ideal = series.at(series.length - 1, History.IDEAL);
    context.strokeStyle = colours.ink;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(x(ideal), top);
    context.lineTo(x(ideal), bottom);
    context.stroke();
    context.setLineDash([]);
    Drawing.text(context, 'ideal', x(ideal) + 4, bottom - 5, colours.ink);
    drawTrail(context, series, first, x, y);
  }

  function drawAxes(context, { left, right, top, bottom, x, y }) {
    const { colours, size: em } = Drawing;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    for (const tick of Drawing.ticks(0, scales[0], 4)) {
      Drawing.axisLabel(context, Units.number(tick), x(tick), bottom + em * 1.2, left, right);
    }
    for (const tick of Drawing.ticks(0, scales[1], 4)) {
      context.strokeRect(left, y(tick), right - left, 0);
      Drawing.text(context, Units.number(tick), left - 5, y(tick), colours.quiet, 'right', 'middle');
    }
    Drawing.text(context, 'RTT, ms', left, top - em * 0.6, colours.ink);
    Drawing.text(context, 'packets in flight', right, bottom + em * 2.5, colours.ink, 'right');
  }

  function drawTrail(context, series, first, x, y) {
    const rows = series.length - first;
    const point = (row) => [x(series.at(row, History.IN_FLIGHT)), y(series.at(row, History.RTT) * 1e3)];
    context.strokeStyle = Drawing.flow(State.watched.flow);
    context.lineWidth = 1.5;
    for (let part = 0; part < FADES; part++) {
      const end = Math.min(series.length - 1, first + Math.floor((rows * (part + 1)) / FADES));
      context.globalAlpha = 0.12 + 0.85 * ((part + 1) / FADES) ** 2;
      context.beginPath();
      let down = false;
      for (let row = first + Math.floor((rows * part) / FADES); row <= end; row++) {
        const [atX, atY] = point(row);
        if (!(atY === atY)) continue;
        context[down ? 'lineTo' : 'moveTo'](atX, atY);
        down = true;
      }
      context.stroke();
    }
    context.globalAlpha = 1;
    const [atX, atY] = point(series.length - 1);
    if (!(atY === atY)) return;
    context.beginPath();
    context.arc(atX, atY, 5, 0, 7);
    context.fillStyle = Drawing.colours.accent;
    context.fill();
  }

  return { draw };
})();
