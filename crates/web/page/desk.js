// The mixing desk: what can be changed while the scene runs.
'use strict';

const Desk = (() => {
  // A fader that is dragged makes a change at most once in this time (ms).
  const PAUSE = 200;
  const channels = new Map();
  let link = 0;
  let extras = null;

  const numbered = (target, number) => (number ? `${target}.${number}` : target);
  const theLink = (description) => description.links[link] || description.links[0];
  const rttOf = (description) => State.watched.rtt || theLink(description).delay || 0.1;

  /** A logarithmic scale from `low` to `high`; with `zero`, its lowest position is 0. */
  function logarithmic(low, high, zero = false) {
    const span = Math.log(high / low);
    return {
      toUnit: (value) => (value <= low ? 0 : Math.min(1, Math.log(value / low) / span)),
      fromUnit: (unit) => (zero && unit <= 0 ? 0 : low * Math.exp(span * unit)),
    };
  }

  /** The BDP of the link in packets. */
  function bdp(description) {
    return theLink(description).rate * rttOf(description) / 12000;
  }

  const CHANNELS = [
    {
      id: 'rate', label: 'Link rate', ...logarithmic(1e5, 1e9), step: 1.25,
      read: (description) => theLink(description).rate,
      text: Units.rate,
      change: (rate) => `${numbered('rate', link)},${Units.rateText(rate)}`,
      disabled: (description) => (theLink(description).trace ? ['by its trace', `The link follows the trace ${theLink(description).trace}: its rate cannot be changed`] : null),
    },
    {
      id: 'rtt', label: 'RTT', ...logarithmic(0.001, 2), step: 1.25,
      read: rttOf, text: Units.time,
      change: (rtt) => `delay,${Units.timeText(rtt)}`,
    },
    {
      id: 'buffer', label: 'Buffer', ...logarithmic(0.1, 100), step: 1.25,
      read: (description) => (theLink(description).buffer_packets ?? Infinity) / bdp(description),
      text: (value) => (Number.isFinite(value) ? `${Units.number(value)} BDP` : 'unlimited'),
      change: (value) => `${numbered('buffer', link)},${Number(value.toPrecision(3))} BDP`,
      disabled: (description) => (theLink(description).rate ? null : ['in packets', 'A link without a rate has no BDP: give packets']),
    },
    {
      id: 'loss', label: 'Random loss', ...logarithmic(1e-4, 0.3, true), step: 1.5, least: 1e-4,
      read: (description) => Number(theLink(description).loss) || 0,
      text: Units.percent,
      change: (loss) => `${numbered('loss', link)},${Number((100 * loss).toPrecision(2))}%`,
    },
    {
      id: 'flows', label: 'Active flows',
      toUnit: (flows) => flows / State.description.most_flows,
      fromUnit: (unit) => Math.round(unit * State.description.most_flows),
      read: (description) => description.active,
      text: (flows) => `${flows} of ${State.description ? State.description.most_flows : 8}`,
      change: (flows) => `flows,${flows}`,
    },
  ];

  const LOADS = [
    ['always', 'always', null],
    ['exp 1 s on, exp 1 s off', 'exp 1 s', 'exp 1 s'],
    ['exp 5 s on, exp 5 s off', 'exp 5 s', 'exp 5 s'],
    ['exp 100 kB, exp 0.5 s off', 'exp 100 kB', 'exp 0.5 s'],
    ['exp 1 MB, exp 1 s off', 'exp 1 MB', 'exp 1 s'],
  ];

  /** A fader with its name and value. `apply` is called with the value that it is moved to. */
  function addChannel(parent, spec, apply) {
    const id = `channel-${spec.id}`;
    const slider = Dom.make('input', { type: 'range', id, min: 0, max: 1, step: 'any' });
    const output = Dom.make('output', { htmlFor: id });
    const learn = Dom.button('Learn', () => Midi.learn(spec.id), { className: 'learn', hidden: true });
    learn.setAttribute('aria-label', `Learn a MIDI fader for ${spec.label}`);
    const element = Dom.make('div', { className: 'channel' },
      Dom.make('label', { htmlFor: id, textContent: spec.label }), output, slider, learn);
    parent.append(element);
    const channel = { ...spec, slider, output, learn, element, value: 0, timer: 0, moved: false, apply };
    channels.set(spec.id, channel);
    slider.oninput = () => move(channel, spec.fromUnit(Number(slider.value)));
    slider.onkeydown = (event) => nudgeByKey(event, channel);
    return channel;
  }

  /** Faders have no steps of their own, so that arrow keys move them by useful ones. */
  function nudgeByKey(event, channel) {
    const direction = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    nudge(channel.id, direction);
  }

  function show(channel, value) {
    channel.value = value;
    const text = channel.text(value);
    Dom.setText(channel.output, text);
    channel.slider.value = channel.toUnit(value);
    channel.slider.setAttribute('aria-valuetext', text);
  }

  /** Moves a fader; what it changes follows soon, but not too often. */
  function move(channel, value) {
    show(channel, value);
    channel.moved = true;
    if (!channel.timer) channel.timer = setTimeout(() => settle(channel), PAUSE);
  }

  async function settle(channel) {
    channel.moved = false;
    await channel.apply(channel.value);
    channel.timer = 0;
    if (channel.moved) channel.timer = setTimeout(() => settle(channel), PAUSE);
    else update();
  }

  function nudge(id, direction) {
    const channel = channels.get(id);
    if (!channel || channel.slider.disabled) return;
    const { value, step, least } = channel;
    if (!step) {
      move(channel, Math.min(State.description.most_flows, Math.max(0, value + direction)));
      return;
    }
    const next = value * step ** direction;
    if (least && direction > 0 && value < least) move(channel, least);
    else move(channel, channel.fromUnit(channel.toUnit(next)));
  }

  function select(id, label, options, onchange) {
    const element = Dom.make('select', { id, onchange });
    Dom.setOptions(element, options);
    return [Dom.make('label', { htmlFor: id, textContent: label }), element];
  }

  const field = (id, label) => [
    Dom.make('label', { htmlFor: id, textContent: label }),
    Dom.make('input', { id, type: 'text', autocomplete: 'off', spellcheck: false }),
  ];

  /** A form of the desk: its fields in a row, applied by its button or by Enter. */
  function form(id, apply, ...content) {
    const onsubmit = (event) => {
      event.preventDefault();
      apply();
    };
    return Dom.make('form', { id, className: 'channel form', onsubmit }, ...content);
  }

  const set = (about) => Dom.make('button', { type: 'submit', textContent: 'Set', aria: { label: about } });

  function buildForms(desk) {
    desk.append(
      form('buffer-form', setPackets, ...field('buffer-packets', 'Buffer, packets'), set('Set the buffer')),
      form('queue-form', setQueue, ...select('queue-name', 'Queue', [], () => { Dom.byId('queue-options').value = ''; setQueue(); }),
        ...field('queue-options', 'Parameters'), set('Set the queue')),
      form('load-form', setLoad, ...select('load-preset', 'Offered load', [['', 'as written'], ...LOADS.map(([name], index) => [String(index), name])], takePreset),
        ...field('load-on', 'On'), ...field('load-off', 'Off'),
        ...select('load-flow', 'For', [['', 'all flows'], ['watched', 'watched flow']], () => {}), set('Set the offered load')),
      form('link-form', () => {}, ...select('link-choice', 'Link', [], ({ target }) => { link = Number(target.value); update(); })),
    );
    extras = Object.fromEntries(['buffer-packets', 'queue-name', 'queue-options', 'load-preset', 'load-on', 'load-off', 'load-flow',
      'link-form', 'link-choice'].map((id) => [id, Dom.byId(id)]));
  }

  function setPackets() {
    const text = extras['buffer-packets'].value.trim();
    document.activeElement.blur();
    State.change(`${numbered('buffer', link)},${/^[\d.]+$/.test(text) ? `${text} packets` : text}`);
  }

  function setQueue() {
    const text = `${extras['queue-name'].value} ${extras['queue-options'].value}`.trim();
    document.activeElement.blur();
    State.change(`${numbered('queue', link)},${text}`);
  }

  function takePreset() {
    const preset = LOADS[Number(extras['load-preset'].value)];
    if (!preset || extras['load-preset'].value === '') return;
    [, extras['load-on'].value] = preset;
    extras['load-off'].value = preset[2] || '';
    setLoad();
  }

  async function setLoad() {
    const flow = extras['load-flow'].value === 'watched' ? `.${State.description.watched.flow}` : '';
    const [on, off] = [extras['load-on'].value.trim(), extras['load-off'].value.trim()];
    document.activeElement.blur();
    if (off && off !== State.description.off && !await State.change(`off${flow},${off}`)) return;
    if (on) await State.change(`on${flow},${on}`);
  }

  /** Shows a text in a field unless somebody writes in it. */
  function fill(element, text) {
    if (document.activeElement !== element) element.value = text ?? '';
  }

  function updateForms() {
    const { description } = State;
    const { queue, buffer_packets: packets, name } = theLink(description);
    fill(extras['buffer-packets'], packets === null ? 'unlimited' : packets);
    const [queueName, ...options] = queue.split(' ');
    const names = State.names ? State.names.queues.map((each) => [each.name, each.name]) : [];
    if (!names.some(([known]) => known === queueName)) names.push([queueName, queueName]);
    Dom.setOptions(extras['queue-name'], names);
    extras['queue-name'].value = queueName;
    fill(extras['queue-options'], options.join(' '));
    fill(extras['load-on'], description.on);
    fill(extras['load-off'], description.off);
    const preset = LOADS.findIndex(([, on, off]) => on === description.on && (on === 'always' || off === description.off));
    extras['load-preset'].value = preset < 0 ? '' : String(preset);
    extras['link-form'].hidden = description.links.length < 2;
    Dom.setOptions(extras['link-choice'], description.links.map((each, index) => [String(index), each.name || name]));
  }

  function update() {
    if (link >= State.description.links.length) link = 0;
    for (const { id } of CHANNELS) {
      const channel = channels.get(id);
      if (channel.timer) continue;
      const reason = channel.disabled ? channel.disabled(State.description) : null;
      channel.slider.disabled = Boolean(reason);
      channel.element.title = reason ? reason[1] : '';
      show(channel, channel.read(State.description));
      if (reason) {
        Dom.setText(channel.output, reason[0]);
        channel.slider.setAttribute('aria-valuetext', reason[1]);
      }
    }
    updateForms();
  }

  return {
    start() {
      const desk = Dom.byId('desk');
      CHANNELS.forEach((spec) => addChannel(desk, spec, (value) => State.change(spec.change(value))));
      buildForms(desk);
      State.on('description', update);
    },

    addChannel,
    logarithmic,
    show,
    nudge,
    channels,

    /** Moves a fader to a position from 0 to 1. */
    setUnit(id, unit) {
      const channel = channels.get(id);
      if (channel && !channel.slider.disabled) move(channel, channel.fromUnit(unit));
    },
  };
})();
