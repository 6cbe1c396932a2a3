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
  let values = [];
  // The rule chosen by its number, or null: the one that fires.
  let chosen = null;

  const now = () => State.history.flowNow(State.watched.lane, State.watched.flow);

  function buildMeasures() {
    values = MEASURES.map(([name]) => {
      const value = Dom.make('dd', { textContent: Units.NONE });
      Dom.byId('measures').append(Dom.make('div', {}, Dom.make('dt', { textContent: name }), value));
      return value;
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

  return {
    start() {
      buildMeasures();
      Strips.start();
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
      else PhasePlot.draw();
      Strips.draw();
    },

    /** Updates texts; less often than pictures. */
    describe() {
      const row = now();
      MEASURES.forEach(([, text], index) => Dom.setText(values[index], row ? text(row) : Units.NONE));
      if (State.watched.table) showRule();
    },
  };
})();
