// The rule map: the boxes of a table in two of its signals, and the way of the flow through them.
'use strict';

const RuleMap = (() => {
  // Columns of an ACK before its signals.
  const [TIME, RULE, WINDOW, SIGNALS] = [0, 1, 2, 4];
  const TRAIL_POINTS = 1500;
  const FADES = 8;
  // Signals span several powers of ten, and may be 0.
  const warp = (value) => Math.log1p(Math.max(0, value));
  const unwarp = (value) => Math.expm1(value);

  let canvas;
  let axes = [0, 1];
  let colourBy = 'window';
  // The visible part, in warped values: what is shown, and what it moves to.
  let view = null;
  let target = null;
  let geometry = null;
  let hovered = null;

  const acks = () => State.history.acks;

  /** The rule that fired last, or null. */
  function firing() {
    const series = acks();
    if (!series || !series.length) return null;
    const rule = series.at(series.length - 1, RULE);
    return Number.isFinite(rule) ? rule : null;
  }

  /** The present values of the table's signals, or null. */
  function present() {
    const series = acks();
    if (!series || !series.length || !State.table) return null;
    return State.table.signals.map((_, signal) => series.at(series.length - 1, SIGNALS + signal));
  }

  /** The rules whose boxes contain the present values of the signals that are no axes. */
  function slice(values) {
    const others = State.table.signals.map((_, signal) => signal).filter((signal) => !axes.includes(signal));
    const inside = ({ lower, upper }) =>
      !values || others.every((signal) => lower[signal] <= values[signal] && values[signal] < upper[signal]);
    return State.table.rules.map((rule, index) => ({ ...rule, index })).filter(inside);
  }

  /** The first row of the trail: about three periods of the orbit, and at least some RTTs. */
  function trailStart(series) {
    const { lane, flow, rtt } = State.watched;
    const now = State.history.flowNow(lane, flow);
    const period = now && Number.isFinite(now.period) ? now.period : 4;
    const seconds = (rtt || 0.1) * Math.min(60, Math.max(8, 3 * period));
    return series.upTo(series.at(series.length - 1, TIME) - seconds);
  }

  function bounds(series, first, signal) {
    let [low, high] = [Infinity, -Infinity];
    for (let row = first; row < series.length; row++) {
      const value = warp(series.at(row, SIGNALS + signal));
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }

  /** An interval around `low` to `high`; the one before if that still fits well. */
  function fit(before, [low, high]) {
    if (!(low <= high)) return before || [0, 3];
    const room = Math.max((high - low) * 0.35, 0.06, high * 0.04);
    const wanted = [Math.max(0, low - room), high + room];
    const fits = before && before[0] <= low && high <= before[1] && before[1] - before[0] < 2.6 * (wanted[1] - wanted[0]);
    return fits ? before : wanted;
  }

  function moveView(series) {
    const first = series && series.length ? trailStart(series) : 0;
    const ranges = axes.map((signal) => (series && series.length ? bounds(series, first, signal) : [Infinity, -Infinity]));
    target = axes.map((_, axis) => fit(target && target[axis], ranges[axis]));
    if (!view || State.reducedMotion.matches) view = target.map((range) => [...range]);
    view.forEach((range, axis) => range.forEach((_, side) => {
      range[side] += (target[axis][side] - range[side]) * 0.12;
    }));
    return first;
  }

  function colour(rule, window) {
    const { grow, shrink, pace } = Drawing.colours;
    if (colourBy === 'pace') {
      const slowness = Math.log1p(rule.intersend_ms * 10) / Math.log1p(1000);
      return [pace, 0.06 + 0.7 * Math.min(1, slowness)];
    }
    const difference = rule.multiple * window + rule.increment - window;
    const strength = Math.log1p(Math.abs(difference)) / Math.log1p(4 + window / 2);
    return [difference < 0 ? shrink : grow, 0.06 + 0.6 * Math.min(1, strength)];
  }

  /** The box of a rule on the canvas: left, top, right, bottom. */
  function box({ lower, upper }, { x, y, left, right, top, bottom }) {
    const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
    return [
      clamp(x(warp(lower[axes[0]])), left, right), clamp(y(warp(upper[axes[1]])), top, bottom),
      clamp(x(warp(upper[axes[0]])), left, right), clamp(y(warp(lower[axes[1]])), top, bottom),
    ];
  }

  function drawRules(context, place, rules, window) {
    const { colours, size } = Drawing;
    for (const rule of rules) {
      const [left, top, right, bottom] = box(rule, place);
      if (right <= left || bottom <= top) continue;
      const [fill, strength] = colour(rule, window);
      context.globalAlpha = strength;
      context.fillStyle = fill;
      context.fillRect(left, top, right - left, bottom - top);
      context.globalAlpha = 1;
      context.strokeStyle = colours.paper;
      context.lineWidth = 1;
      context.strokeRect(left, top, right - left, bottom - top);
      if (right - left > size * 2.6 && bottom - top > size * 1.5) {
        Drawing.text(context, String(rule.index), left + 4, top + size + 2, colours.ink);
      }
    }
  }

  function outline(context, place, rule, stroke, width) {
    if (!rule) return;
    const [left, top, right, bottom] = box(rule, place);
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.strokeRect(left, top, right - left, bottom - top);
  }

  /** The way of the signals: the later, the stronger. */
  function drawTrail(context, { x, y }, series, first) {
    const rows = series.length - first;
    const stride = Math.max(1, Math.ceil(rows / TRAIL_POINTS));
    const point = (row) => [x(warp(series.at(row, SIGNALS + axes[0]))), y(warp(series.at(row, SIGNALS + axes[1])))];
    context.strokeStyle = Drawing.colours.ink;
    context.lineWidth = 1.3;
    for (let part = 0; part < FADES; part++) {
      const begin = first + Math.floor((rows * part) / FADES);
      const end = first + Math.floor((rows * (part + 1)) / FADES);
      context.globalAlpha = 0.1 + 0.75 * ((part + 1) / FADES) ** 2;
      context.beginPath();
      for (let row = begin; row < end; row += stride) context[row === begin ? 'moveTo' : 'lineTo'](...point(row));
      if (end < series.length) context.lineTo(...point(end));
      context.stroke();
    }
    context.globalAlpha = 1;
    const [atX, atY] = point(series.length - 1);
    context.beginPath();
    context.arc(atX, atY, 5, 0, 7);
    context.fillStyle = Drawing.colours.accent;
    context.fill();
    context.strokeStyle = Drawing.colours.paper;
    context.stroke();
  }

  function drawAxes(context, { x, y, left, right, top, bottom }) {
    const { colours, size } = Drawing;
    const name = (axis) => {
      const { name: signal, unit } = State.table.signals[axes[axis]];
      return unit ? `${signal}, ${unit}` : signal;
    };
    const values = (axis) => Drawing.ticks(unwarp(view[axis][0]), unwarp(view[axis][1]), 4);
    values(0).forEach((value) => Drawing.text(context, Units.number(value), x(warp(value)), bottom + size * 1.2, colours.quiet, 'center'));
    values(1).forEach((value) => Drawing.text(context, Units.number(value), left - 5, y(warp(value)), colours.quiet, 'right', 'middle'));
    Drawing.text(context, name(0), right, bottom + size * 2.5, colours.ink, 'right');
    Drawing.text(context, name(1), left, top - size * 0.6, colours.ink);
    const key = colourBy === 'pace' ? [['slower pace', colours.pace]] : [['window grows', colours.grow], ['shrinks', colours.shrink]];
    let at = right;
    for (const [words, fill] of key.reverse()) {
      Drawing.text(context, words, at, top - size * 0.6, colours.quiet, 'right');
      at -= context.measureText(words).width + size * 1.1;
      context.fillStyle = fill;
      context.fillRect(at, top - size * 1.35, size * 0.8, size * 0.8);
      at -= size;
    }
  }

  function layout(width, height) {
    const em = Drawing.size;
    const [left, right, top, bottom] = [em * 3.2, width - 4, em * 2, height - em * 2.9];
    const x = (value) => left + (right - left) * ((value - view[0][0]) / (view[0][1] - view[0][0]));
    const y = (value) => bottom - (bottom - top) * ((value - view[1][0]) / (view[1][1] - view[1][0]));
    return { left, right, top, bottom, x, y };
  }

  /** The rule at a point of the canvas, or null. */
  function ruleAt(offsetX, offsetY) {
    if (!geometry || !State.table) return null;
    const inside = (rule) => {
      const [left, top, right, bottom] = box(rule, geometry);
      return left <= offsetX && offsetX < right && top <= offsetY && offsetY < bottom;
    };
    const found = slice(present()).find(inside);
    return found ? found.index : null;
  }

  function draw(chosen) {
    const ready = Drawing.prepare(canvas);
    if (!ready || !State.table || State.table.signals.length < 1) return;
    const { context, width, height } = ready;
    const series = acks();
    const first = moveView(series);
    geometry = layout(width, height);
    const { left, right, top, bottom } = geometry;
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    const window = series && series.length ? series.at(series.length - 1, WINDOW) : 1;
    drawRules(context, geometry, slice(present()), window);
    outline(context, geometry, State.table.rules[chosen], Drawing.colours.ink, 1.5);
    outline(context, geometry, State.table.rules[firing()], Drawing.colours.accent, 3);
    if (series && series.length) drawTrail(context, geometry, series, first);
    context.restore();
    drawAxes(context, geometry);
  }

  /** Offers the signals of a new table as axes; the first two that it looks at are chosen. */
  function offerAxes() {
    view = target = hovered = null;
    if (!State.table) return;
    const { signals } = State.table;
    const options = signals.map(({ name }, index) => [String(index), name]);
    axes = [0, Math.min(1, signals.length - 1)];
    ['map-x', 'map-y'].forEach((id, axis) => {
      Dom.setOptions(Dom.byId(id), options);
      Dom.byId(id).value = String(axes[axis]);
    });
  }

  return {
    start(choose) {
      canvas = Dom.byId('map');
      State.on('table', offerAxes);
      ['map-x', 'map-y'].forEach((id, axis) => {
        Dom.byId(id).onchange = ({ target: { value } }) => {
          axes[axis] = Number(value);
          view = target = null;
        };
      });
      Dom.byId('map-colour').onchange = ({ target: { value } }) => { colourBy = value; };
      canvas.onpointermove = ({ offsetX, offsetY }) => { hovered = ruleAt(offsetX, offsetY); };
      canvas.onpointerleave = () => { hovered = null; };
      canvas.onclick = ({ offsetX, offsetY }) => choose(ruleAt(offsetX, offsetY));
    },
    draw,
    firing,
    present,
    get hovered() { return hovered; },
  };
})();
