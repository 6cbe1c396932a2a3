// The keyboard, and the help that lists its keys.
'use strict';

const Keys = (() => {
  const KEYS = [
    [' ', 'Space', 'play or pause', () => Transport.toggle()],
    [',', ',', 'step by one event', () => Transport.step('event')],
    ['.', '.', 'step to the next ACK of the watched flow', () => Transport.step('ack')],
    ['/', '/', 'step by one RTT', () => Transport.step('rtt')],
    ['ArrowLeft', '←', 'go back by a tenth of the window', () => Transport.scrub(-1)],
    ['ArrowRight', '→', 'go on by a tenth of the window', () => Transport.scrub(1)],
    ['Home', 'Home', 'go back to the start', () => Transport.seek(0)],
    ['ArrowUp', '↑', 'raise the link rate', () => Desk.nudge('rate', 1)],
    ['ArrowDown', '↓', 'lower the link rate', () => Desk.nudge('rate', -1)],
    ['[', '[', 'shorten the RTT', () => Desk.nudge('rtt', -1)],
    [']', ']', 'lengthen the RTT', () => Desk.nudge('rtt', 1)],
    ['b', 'b', 'shrink the buffer', () => Desk.nudge('buffer', -1)],
    ['B', 'B', 'enlarge the buffer', () => Desk.nudge('buffer', 1)],
    ['e', 'e', 'lower the random loss', () => Desk.nudge('loss', -1)],
    ['E', 'E', 'raise the random loss', () => Desk.nudge('loss', 1)],
    ['+', '+', 'one more flow', () => Desk.nudge('flows', 1)],
    ['-', '-', 'one flow less', () => Desk.nudge('flows', -1)],
    ['<', '<', 'halve the speed', () => Desk.nudge('speed', -1)],
    ['>', '>', 'double the speed', () => Desk.nudge('speed', 1)],
    ['1-8', '1 to 8', 'watch that flow', null],
    ['l', 'l', 'watch the next lane', () => nextLane()],
    ['a', 'a', 'add a lane', () => Chooser.open(null)],
    ['c', 'c', 'choose the controller of the watched flow', () => Chooser.open(State.watched.lane, State.watched.flow)],
    ['n', 'n', 'show the numbers', () => Numbers.toggle()],
    ['s', 's', 'share the scene', () => Dom.byId('share').click()],
    ['t', 't', 'change between light and dark', () => Dom.byId('theme').click()],
    ['?', '?', 'show this help', () => showHelp()],
  ];
  const SETTING = 'ratatouille.keys';
  // Some people speak to their computer: single keys can be switched off.
  let enabled = readSetting() !== 'off';

  function readSetting() {
    try {
      return localStorage.getItem(SETTING);
    } catch {
      return null;
    }
  }

  function enable(value) {
    enabled = value;
    try {
      localStorage.setItem(SETTING, value ? 'on' : 'off');
    } catch {
      // The setting then holds for this visit only.
    }
  }

  function nextLane() {
    const { lane, flow } = State.watched;
    const { lanes } = State.description;
    const next = (lane + 1) % lanes.length;
    return State.watch(next, Math.min(flow, lanes[next].flows.length - 1));
  }

  function watchByNumber(key) {
    const flow = Number(key) - 1;
    const { lane } = State.watched;
    if (State.flow(lane, flow)) State.watch(lane, flow);
  }

  /** Whether a key belongs to the element that has the focus. */
  function isTaken({ target, key }) {
    if (target.closest('dialog[open]')) return true;
    if (target.matches('textarea, select, input:not([type=range]):not([type=checkbox])')) return true;
    if (target.matches('input[type=range]')) return /^(Arrow|Home|End|Page)/.test(key);
    return key === ' ' && target.matches('button, input, a, summary');
  }

  function press(event) {
    if (!enabled || !State.description || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    if (/^[1-8]$/.test(event.key)) {
      watchByNumber(event.key);
      return;
    }
    const found = KEYS.find(([key]) => key === event.key || (key === '+' && event.key === '='));
    if (!found) return;
    event.preventDefault();
    found[3]();
  }

  function showHelp() {
    const list = Dom.make('dl', { className: 'keys' });
    for (const [, name, about] of KEYS) {
      list.append(Dom.make('div', {}, Dom.make('dt', {}, Dom.make('kbd', { textContent: name })), Dom.make('dd', { textContent: about })));
    }
    const check = Dom.make('input', { type: 'checkbox', checked: enabled, onchange: () => enable(check.checked) });
    Dom.showDialog(Dom.byId('help-dialog'), 'Help',
      Dom.make('p', { textContent: 'Each lane plays the same arrivals with other controllers. The upper chart shows the packets in flight of each flow next to '
        + 'the ideal number: the bandwidth-delay product of the bottleneck, divided by the number of flows. On the right is the flow that you watch: '
        + 'a RemyCC is a table of rules, and the map shows the rule that fires and the orbit of its signals.' }),
      Dom.make('p', { textContent: 'Whatever you change is recorded with its time, and is part of the link. Drop a rule table, model, scenario or trace on the page to open it.' }),
      Dom.make('h3', { textContent: 'Keys' }), list,
      Dom.make('label', { className: 'check' }, check, ' Use these keys'),
      ...Midi.help());
  }

  return {
    start() {
      addEventListener('keydown', press);
      Dom.byId('help').onclick = showHelp;
    },
  };
})();
