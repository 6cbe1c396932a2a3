// The watched flow: its measures, the rule that fires, what held its sends back, and its signals over time.
'use strict';

const Watched = (() => {
  const MEASURES = [
    ['Period of the orbit', ({ period }) => (Number.isFinite(period) ? `${Units.number(period)} RTTs` : Units.NONE)],
    ['Mean in flight / ideal', ({ meanOverIdeal }) => Units.number(meanOverIdeal)],
    ['Ramp-up to 90 %', ({ rampUp }) => (Number.isFinite(rampUp) ? `${Units.number(rampUp)} RTTs` : Units.NONE)],
    ['Held by the window', ({ byWindow }) => Units.whole(byWindow)],
    ['Held by the pace', ({ byPace }) => Units.whole(byPace)],
  ];
  const HELD = ['window', 'pace', 'data'];
  // About so many rows of a signal are drawn.
  const SIGNAL_ROWS = 1200;
  let values = [];
  let heldKeys = [];
  // The rule chosen by its number, or null: the one that fires.
  let chosen = null;
  let scales = [0, 0];

  const now = () => State.history.flowNow(State.watched.lane, State.watched.flow);

  function buildMeasures() {
    values = MEASURES.map(([name]) => {
      const value = Dom.make('dd', { textContent: Units.NONE });
      Dom.byId('measures').append(Dom.make('div', {}, Dom.make('dt', { textContent: name }), value));
      return value;
    });
    heldKeys = HELD.map((name) => {
      const share = Dom.make('b', { textContent: Units.NONE });
      Dom.byId('held-shares').append(Dom.make('span', { className: `held-${name}` }, `${name} `, share));
      return share;
    });
  }

  function updateTitle() {
    const { lanes, active } = State.description;
    const { lane, flow, controller } = State.watched;
    Dom.setText(Dom.byId('watched-title'), `The watched flow: flow ${flow + 1}, ${controller}`);
    const shown = Math.max(active, 1);
    const options = lanes.flatMap(({ flows }, index) => flows.slice(0, Math.max(shown, index === lane ? flow + 1 : 0)).map((each, number) =>
      [`${index}.${number}`, `${Lanes.LETTERS[index]}, flow ${number + 1}: ${each.controller}`]));
    Dom.setOptions(Dom.byId('watched-flow'), options);
    Dom.byId('watched-flow').value = `${lane}.${flow}`;
  }

  function updateSections() {
    const { table, host } = State.watched;
    Dom.byId('rules').hidden = !table;
    Dom.byId('sprout').hidden = host !== 'Sprout';
    Dom.byId('phase-section').hidden = Boolean(table) || host === 'Sprout';
  }

  function offerRules() {
    chosen = null;
    if (!State.table) return;
    const rules = State.table.rules.map((_, index) => [String(index), `rule ${index}`]);
    Dom.setOptions(Dom.byId('rule-choice'), [['', 'the one that fires'], ...rules]);
    Dom.byId('rule-choice').value = '';
    showRule();
  }

  function choose(rule) {
    chosen = rule;
    Dom.byId('rule-choice').value = rule === null ? '' : String(rule);
    showRule();
  }

  /** The rule that is described: under the pointer, chosen, or firing. */
  const described = () => RuleMap.hovered ?? chosen ?? RuleMap.firing();

  function showRule() {
    const index = described();
    const rule = State.table && State.table.rules[index];
    Dom.setText(Dom.byId('rule-words'), rule ? `${index}: ${rule.words}` : 'No rule has fired yet.');
    const form = Dom.byId('rule-form');
    if (!rule || form.contains(document.activeElement)) return;
    form.dataset.rule = index;
    const short = (value) => Number(value.toPrecision(7));
    Dom.byId('rule-multiple').value = short(rule.multiple);
    Dom.byId('rule-increment').value = short(rule.increment);
    Dom.byId('rule-intersend').value = short(rule.intersend_ms);
  }

  async function editRule(event) {
    event.preventDefault();
    const { lane, flow } = State.watched;
    const rule = Number(Dom.byId('rule-form').dataset.rule);
    const value = (name) => Dom.byId(`rule-${name}`).value;
    const action = `${value('multiple')} ${value('increment')} ${value('intersend')}ms`;
    document.activeElement.blur();
    const accepted = await State.change(`rule.${lane}.${flow}.${rule},${action}`);
    if (accepted) choose(rule);
  }

  async function saveTable() {
    const { lane, flow } = State.watched;
    const { name, text } = await State.engine.call('save', { lane, flow });
    Dom.download(name, new Blob([text], { type: 'application/json' }));
  }

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
    const [left, right] = [em * 6.5, width - em * 7];
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

  /** For a controller without rules: RTT over packets in flight, with the way that the flow has taken. */
  function drawPhase() {
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
    drawPhaseAxes(context, { left, right, top, bottom, x, y });
    const ideal = series.at(series.length - 1, History.IDEAL);
    context.strokeStyle = colours.ink;
    context.setLineDash([5, 4]);
    context.strokeRect(x(ideal), top, 0, bottom - top);
    context.setLineDash([]);
    Drawing.text(context, 'ideal', x(ideal) + 4, bottom - 5, colours.ink);
    drawPhaseTrail(context, series, first, x, y);
  }

  function drawPhaseAxes(context, { left, right, top, bottom, x, y }) {
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

  function drawPhaseTrail(context, series, first, x, y) {
    const FADES = 8;
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

  return {
    start() {
      buildMeasures();
      RuleMap.start(choose);
      State.on('description', () => { updateTitle(); updateSections(); });
      State.on('table', offerRules);
      State.on('scene', () => { Dom.byId('watched').scrollTop = 0; });
      Dom.byId('watched-flow').onchange = ({ target }) => State.watch(...target.value.split('.').map(Number));
      Dom.byId('rule-choice').onchange = ({ target }) => choose(target.value === '' ? null : Number(target.value));
      Dom.byId('rule-form').onsubmit = editRule;
      Dom.byId('rule-form').addEventListener('focusin', () => choose(Number(Dom.byId('rule-form').dataset.rule)));
      Dom.byId('save-table').onclick = saveTable;
    },

    draw() {
      const { table, host } = State.watched;
      if (table) RuleMap.draw(RuleMap.hovered ?? chosen);
      else if (host === 'Sprout') SproutView.draw();
      else drawPhase();
      drawHeld();
      drawSignals();
    },

    /** Updates texts; less often than pictures. */
    describe() {
      const row = now();
      MEASURES.forEach(([, text], index) => Dom.setText(values[index], row ? text(row) : Units.NONE));
      if (State.watched.table) showRule();
    },
  };
})();
