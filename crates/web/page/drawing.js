// Helpers to draw on canvases: sizes, colours, axes, lines and labels.
'use strict';

const Drawing = (() => {
  const FLOWS = 8;
  // A line is not broken by gaps of so few pixels.
  const GAP = 8;
  const sizes = new WeakMap();
  const observer = new ResizeObserver((entries) => {
    entries.forEach(({ target, contentRect }) => sizes.set(target, contentRect));
  });
  const drawing = { colours: null, flows: [], prepare, ticks, niceMaximum, trace, spread, mark, badge, text, axisLabel, scale };

  /** Reads the colours of the present theme from the style sheet. */
  drawing.readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ['paper', 'ink', 'quiet', 'line', 'accent', 'shrink', 'grow', 'neutral', 'pace', 'wire', 'alarm'];
    drawing.colours = Object.fromEntries(names.map((name) => [name, read(name)]));
    drawing.flows = Array.from({ length: FLOWS }, (_, flow) => read(`flow-${flow + 1}`));
    drawing.size = 0.75 * parseFloat(style.fontSize);
    drawing.font = `${drawing.size}px ${style.fontFamily}`;
    drawing.bold = `600 ${drawing.size}px ${style.fontFamily}`;
  };

  drawing.flow = (flow) => drawing.flows[flow % FLOWS];

  /** The context of a canvas, cleared and scaled to CSS pixels, and its size; null if it is not visible. */
  function prepare(canvas) {
    if (!sizes.has(canvas)) {
      sizes.set(canvas, canvas.getBoundingClientRect());
      observer.observe(canvas);
    }
    const { width, height } = sizes.get(canvas);
    if (width < 2 || height < 2) return null;
    const ratio = devicePixelRatio || 1;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = drawing.font;
    context.lineJoin = 'bevel';
    return { context, width, height };
  }

  /** About `count` round numbers from `low` to `high`. */
  function ticks(low, high, count) {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
    const list = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) list.push(Number(at.toPrecision(12)));
    return list;
  }

  /** A round number a little above `value`. */
  function niceMaximum(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value * 1.08));
    return [1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10].map((factor) => factor * power).find((candidate) => candidate >= value * 1.08);
  }

  /** The next maximum of an axis that shows `value`: it grows at once, and shrinks only when much is left over. */
  function scale(before, value) {
    const wanted = niceMaximum(value);
    return wanted > before || wanted < 0.55 * before || !before ? wanted : before;
  }

  /**
   * Adds a line through the rows of `series` from `first` on to the path. All points of one pixel column, which are
   * `perPixel` seconds, become four points at most. The line is broken where values or samples are missing.
   * Only every `stride`-th row is looked at. Returns the largest value.
   */
  function trace(context, series, first, value, x, y, perPixel, stride = 1) {
    let column = NaN, before = NaN, step = Infinity, down = false;
    let at = 0, start = 0, low = 0, high = 0, last = 0, most = 0;
    const flush = () => {
      if (down) context.lineTo(at, y(start));
      else context.moveTo(at, y(start));
      if (low < start) context.lineTo(at, y(low));
      if (high > start) context.lineTo(at, y(high));
      if (last !== start || low < high) context.lineTo(at, y(last));
      down = true;
    };
    for (let row = first; row < series.length; row += stride) {
      const time = series.at(row, 0);
      const now = value(row);
      const broken = !(now === now) || time - before > Math.max(3.5 * step, GAP * perPixel);
      if (broken && column === column) {
        flush();
        column = NaN;
        down = false;
      }
      if (time > before) step = time - before;
      before = time;
      if (!(now === now)) continue;
      const here = Math.floor(time / perPixel);
      if (here !== column) {
        if (column === column) flush();
        column = here;
        at = x(time);
        start = low = high = now;
      }
      if (now < low) low = now;
      if (now > high) high = now;
      if (now > most) most = now;
      last = now;
    }
    if (column === column) flush();
    return most;
  }

  /** Moves `labels`, each with a `y`, apart to a distance of at least `gap`, within `top` and `bottom`. */
  function spread(labels, gap, top, bottom) {
    labels.sort((one, other) => one.y - other.y);
    labels.forEach((label, index) => {
      const least = index ? labels[index - 1].y + gap : top;
      label.y = Math.max(label.y, least);
    });
    for (let index = labels.length - 1, most = bottom; index >= 0; index--) {
      labels[index].y = Math.min(labels[index].y, most);
      most = labels[index].y - gap;
    }
  }

  /** Adds the shape of a flow to the path: flows differ by shape as well as by colour. */
  function mark(context, flow, x, y, size) {
    const polygon = (points) => {
      points.forEach(([dx, dy], index) => context[index ? 'lineTo' : 'moveTo'](x + dx * size, y + dy * size));
      context.closePath();
    };
    const shapes = [
      () => { context.moveTo(x + size, y); context.arc(x, y, size, 0, 7); },
      () => polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
      () => polygon([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]]),
      () => polygon([[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]),
      () => polygon([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]]),
      () => polygon([[-1.2, -0.5], [1.2, -0.5], [1.2, 0.5], [-1.2, 0.5]]),
      () => polygon([[-0.5, -1.2], [0.5, -1.2], [0.5, 1.2], [-0.5, 1.2]]),
      () => polygon([[-1.2, 0], [-0.6, -1], [0.6, -1], [1.2, 0], [0.6, 1], [-0.6, 1]]),
    ];
    shapes[flow % shapes.length]();
  }

  /** The number of a flow in a disc of its colour; without the number where there is no room for it. */
  function badge(context, flow, x, y, room = Infinity) {
    const radius = Math.min(drawing.size * 0.68, room / 2);
    context.fillStyle = drawing.flow(flow);
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
    if (radius < drawing.size * 0.55) return;
    context.font = drawing.bold;
    text(context, String(flow + 1), x, y + 0.5, drawing.colours.paper, 'center', 'middle');
    context.font = drawing.font;
  }

  /** Labels of an axis: those at its ends are moved inwards. */
  function axisLabel(context, words, x, y, left, right) {
    const half = context.measureText(words).width / 2;
    text(context, words, Math.max(left + half, Math.min(right - half, x)), y, drawing.colours.quiet, 'center');
  }

  function text(context, words, x, y, colour, align = 'left', baseline = 'alphabetic') {
    context.fillStyle = colour;
    context.textAlign = align;
    context.textBaseline = baseline;
    context.fillText(words, x, y);
  }

  return drawing;
})();
