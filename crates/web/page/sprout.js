// Sprout's view: what it believes of the link, what it forecasts, and what was delivered.
'use strict';

const SproutView = (() => {
  // The part of the picture that shows the past; the rest shows the forecast.
  const PAST = 0.7;
  let mostLikely = 0;
  let mostRate = 0;
  let rateScale = 0;

  const lastSprout = () => {
    const { sprouts } = State.history;
    return sprouts.length ? sprouts.length - 1 : null;
  };

  /** The highest rate that matters: beyond it hardly anything is believed. */
  function visibleRate({ rows, values }) {
    let [rest, row] = [0, rows - 1];
    while (row > 0 && rest + values[row * 2 + 1] < 0.002) rest += values[row-- * 2 + 1];
    return values[row * 2];
  }

  function drawBelief() {
    const ready = Drawing.prepare(Dom.byId('belief'));
    const { belief, sprouts } = State.history;
    if (!ready || !belief) return;
    const { context, width, height } = ready;
    const { colours, size: em } = Drawing;
    const { rows, values } = belief;
    let highest = 0;
    for (let row = 0; row < rows; row++) highest = Math.max(highest, values[row * 2 + 1]);
    mostLikely = Math.max(highest, mostLikely * 0.985);
    mostRate = Drawing.scale(mostRate, visibleRate(belief));
    const [left, right, top, bottom] = [4, width - 4, em, height - em * 2.4];
    const x = (rate) => left + (right - left) * (rate / mostRate);
    const bar = Math.max(1, x(values[2] - values[0]) - left - 0.5);
    context.fillStyle = Drawing.flow(State.watched.flow);
    for (let row = 0; row < rows && values[row * 2] <= mostRate; row++) {
      const tall = (bottom - top) * (values[row * 2 + 1] / mostLikely);
      context.fillRect(x(values[row * 2]) - bar / 2, bottom - tall, bar, tall);
    }
    for (const tick of Drawing.ticks(0, mostRate * 1e-6, 5)) {
      Drawing.axisLabel(context, Units.number(tick), x(tick * 1e6), bottom + em * 1.2, left, right);
    }
    Drawing.text(context, 'Mbps', right, bottom + em * 2.3, colours.quiet, 'right');
    const at = lastSprout();
    if (at === null) return;
    const mean = x(sprouts.at(at, 1));
    context.fillStyle = colours.accent;
    context.fillRect(mean - 1, top - 4, 2, bottom - top + 4);
    Drawing.text(context, 'mean', mean + 5, top + em * 0.6, colours.ink);
  }

  /** The lines of the past: the link, what was delivered, and the mean of the belief. */
  function pastLines() {
    const { lane, flow } = State.watched;
    const { links, flows } = State.history.lane(lane);
    const delivered = flows[flow];
    const rateOf = (series, column, factor) => (row) => series.at(row, column) * factor;
    const lines = [];
    if (links[0]) lines.push({ name: 'link', series: links[0], value: rateOf(links[0], History.RATE, 1e-6), colour: Drawing.colours.quiet });
    if (delivered) lines.push({ name: 'delivered', series: delivered, value: Charts.rateOf(delivered), colour: Drawing.flow(flow) });
    const { sprouts } = State.history;
    lines.push({ name: 'believed', series: sprouts, value: rateOf(sprouts, 1, 1e-6), colour: Drawing.colours.accent, dash: [5, 3] });
    return lines;
  }

  /** The forecast as rates: of each tick what it adds, in Mbps. */
  function forecastRates(column) {
    const { forecast } = State.history;
    if (!forecast) return [];
    const { rows, values } = forecast;
    return Array.from({ length: rows }, (_, row) => {
      const before = row ? [values[(row - 1) * 3], values[(row - 1) * 3 + column]] : [0, 0];
      const [seconds, bytes] = [values[row * 3], values[row * 3 + column]];
      return { from: before[0], to: seconds, rate: (bytes - before[1]) * 8e-6 / (seconds - before[0]) };
    });
  }

  /** The largest of the rates that are drawn. */
  function largestRate(lines, steps, from) {
    let most = 0;
    for (const { series, value } of lines) {
      for (let row = series.upTo(from); row < series.length; row++) most = Math.max(most, value(row) || 0);
    }
    return steps.reduce((largest, { rate }) => Math.max(largest, rate || 0), most);
  }

  function drawForecast() {
    const ready = Drawing.prepare(Dom.byId('forecast'));
    if (!ready) return;
    const { context, width, height } = ready;
    const { colours, size: em } = Drawing;
    const [left, right, top, bottom] = [em * 2.6, width - 4, em * 1.6, height - em * 1.6];
    const place = { left, middle: left + (right - left) * PAST, right, top, bottom };
    const seconds = Math.min(State.seconds, 5);
    const from = State.history.now - seconds;
    const lines = pastLines();
    const [received, followed] = [forecastRates(1), forecastRates(2)];
    rateScale = Drawing.scale(rateScale, largestRate(lines, received, from));
    const y = (rate) => bottom - (bottom - top) * (rate / rateScale);
    drawRateAxis(context, place, y);
    drawPast(context, lines, place, { from, seconds, y });
    const horizon = received.length ? received[received.length - 1].to : 0.16;
    const ahead = (time) => place.middle + (right - place.middle) * (time / horizon);
    drawSteps(context, received, ahead, y, colours.ink, []);
    drawSteps(context, followed, ahead, y, colours.quiet, [3, 3]);
    drawKey(context, lines, place, `+${Units.time(horizon)}`, `last ${Units.time(seconds)}`);
  }

  function drawRateAxis(context, { left, middle, right, top, bottom }, y) {
    const { colours } = Drawing;
    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    for (const tick of Drawing.ticks(0, rateScale, 3)) {
      context.strokeRect(left, y(tick), right - left, 0);
      Drawing.text(context, Units.number(tick), left - 4, y(tick), colours.quiet, 'right', 'middle');
    }
    context.strokeStyle = colours.ink;
    context.strokeRect(middle, top, 0, bottom - top);
  }

  function drawPast(context, lines, { left, middle, top, bottom }, { from, seconds, y }) {
    const x = (time) => left + (middle - left) * ((time - from) / seconds);
    context.save();
    context.beginPath();
    context.rect(left, top - 2, middle - left, bottom - top + 4);
    context.clip();
    for (const { series, value, colour, dash } of lines) {
      context.beginPath();
      Drawing.trace(context, series, Math.max(0, series.upTo(from) - 1), value, x, y, seconds / (middle - left));
      context.strokeStyle = colour;
      context.lineWidth = 1.6;
      context.setLineDash(dash || []);
      context.stroke();
    }
    context.restore();
  }

  function drawSteps(context, steps, x, y, colour, dash) {
    context.beginPath();
    steps.forEach(({ from, to, rate }) => {
      context.lineTo(x(from), y(rate));
      context.lineTo(x(to), y(rate));
    });
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  }

  function drawKey(context, lines, { left, middle, right, top, bottom }, ahead, past) {
    const { colours, size: em } = Drawing;
    let at = left;
    for (const { name, colour } of lines) {
      context.fillStyle = colour;
      context.fillRect(at, top - em, em, 3);
      Drawing.text(context, name, at + em * 1.3, top - em * 0.5, colours.ink);
      at += em * 2.2 + context.measureText(name).width;
    }
    Drawing.text(context, past, left, bottom + em * 1.3, colours.quiet);
    Drawing.text(context, ahead, right, bottom + em * 1.3, colours.quiet, 'right');
    Drawing.text(context, 'now', middle, bottom + em * 1.3, colours.ink, 'center');
  }

  function describe() {
    const at = lastSprout();
    if (at === null) return;
    const { sprouts } = State.history;
    const kilobytes = (column) => `${Units.number(sprouts.at(at, column) / 1000)} kB`;
    Dom.setText(Dom.byId('sprout-numbers'),
      `Mean ${Units.rate(sprouts.at(at, 1))}, window ${kilobytes(2)}, in flight ${kilobytes(3)}`);
  }

  return {
    draw() {
      drawBelief();
      drawForecast();
      describe();
    },
  };
})();
