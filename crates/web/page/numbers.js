// The same in numbers and in words: tables, and descriptions of the charts for those who do not see them.
'use strict';

const Numbers = (() => {
  const HEADINGS = ['Flow', 'Controller', 'In flight', 'Ideal', 'Window', 'Pace', 'RTT', 'Throughput', 'Held by', 'Rule'];

  const nameOf = ({ lane, flow }) => `${Lanes.LETTERS[lane]}${flow + 1}`;

  function row(now) {
    const { controller } = State.flow(now.lane, now.flow) || { controller: '' };
    return [nameOf(now), controller, Units.number(now.inFlight), Units.number(now.ideal), Units.number(now.window),
      Units.time(now.intersend), Units.time(now.rtt), Units.rate(now.throughput), Frame.HELD_BY[now.heldBy] || Units.NONE,
      Number.isFinite(now.rule) ? String(now.rule) : Units.NONE];
  }

  function fillReport({ lanes }) {
    const headings = ['Lane', 'Flow', 'Throughput', 'RTT', 'Share', 'Sent', 'Lost', 'Retransmitted'];
    const rows = lanes.flatMap(({ name, flows }, lane) => flows.map((flow) => [
      `${Lanes.LETTERS[lane]}: ${name}`, flow.name, Units.rate(flow.throughput), Units.time(flow.rtt), Units.percent(flow.share),
      Units.number(flow.sent), Units.number(flow.lost), Units.number(flow.retransmitted)]));
    Dom.fillTable(Dom.byId('numbers-report'), headings, rows);
  }

  async function updateReport() {
    fillReport(await State.engine.call('report'));
  }

  function inWords(lane) {
    const flows = State.history.flows.filter((now) => now.lane === lane);
    const words = flows.map((now) => {
      const count = `${Units.plural(Math.round(now.inFlight), 'packet')} in flight`;
      return `flow ${now.flow + 1}: ${count}, ideal ${Units.number(now.ideal)}, RTT ${Units.time(now.rtt)}, ${Units.rate(now.throughput)}`;
    });
    const links = State.history.lane(lane).links;
    const waiting = links[0] && links[0].length ? links[0].at(links[0].length - 1, History.WAITING) : 0;
    return `Charts of lane ${Lanes.LETTERS[lane]}, ${Lanes.controllersOf(lane)}, at ${Units.clock(State.history.now)}. `
      + `${words.join('; ')}. ${Units.plural(waiting, 'packet')} in the queue.`;
  }

  function describeMap() {
    const rule = RuleMap.firing();
    const present = RuleMap.present();
    if (rule === null || !present) return;
    const signals = State.table.signals.map(({ name, unit }, index) => `${name} ${Units.number(present[index])} ${unit || ''}`.trim());
    Dom.byId('map').setAttribute('aria-label', `Rule map: rule ${rule} fires. Signals: ${signals.join(', ')}`);
  }

  return {
    start() {
      Dom.byId('update-report').onclick = updateReport;
      Dom.byId('show-numbers').onclick = () => this.toggle();
    },

    toggle() {
      const panel = Dom.byId('numbers');
      panel.hidden = !panel.hidden;
      Dom.byId('show-numbers').setAttribute('aria-expanded', String(!panel.hidden));
      if (panel.hidden) return;
      this.describe();
      updateReport();
      panel.scrollIntoView({ block: 'nearest' });
    },

    describe() {
      Lanes.describe(inWords);
      describeMap();
      if (!Dom.byId('numbers').hidden) Dom.fillTable(Dom.byId('numbers-now'), HEADINGS, State.history.flows.map(row));
    },
  };
})();
