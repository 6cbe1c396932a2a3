// MIDI: faders of a control surface move those of the desk, as they have been learnt.
'use strict';

const Midi = (() => {
  const SETTING = 'ratatouille.midi';
  const CONTROL_CHANGE = 0xb0;
  // For each fader of a surface, as `channel.controller`, the control of the desk.
  let mapping = readMapping();
  let access = null;
  let learning = null;

  function readMapping() {
    try {
      return JSON.parse(localStorage.getItem(SETTING)) || {};
    } catch {
      return {};
    }
  }

  function keepMapping() {
    try {
      localStorage.setItem(SETTING, JSON.stringify(mapping));
    } catch {
      // The mapping then holds for this visit only.
    }
  }

  function receive({ data: [status, controller, value] }) {
    if ((status & 0xf0) !== CONTROL_CHANGE) return;
    const fader = `${status & 0x0f}.${controller}`;
    if (learning) assign(fader);
    else if (mapping[fader]) Desk.setUnit(mapping[fader], value / 127);
  }

  function assign(fader) {
    mapping[fader] = learning;
    keepMapping();
    Dom.toast(`${Desk.channels.get(learning).label} follows MIDI controller ${fader.split('.')[1]}.`);
    learning = null;
  }

  /** Asks for access to MIDI; says in words why there is none. */
  async function connect() {
    if (!navigator.requestMIDIAccess) {
      Dom.toast('This browser has no Web MIDI. Chromium, Edge and Firefox have it; all else works without.', 'refused');
      return;
    }
    try {
      access = await navigator.requestMIDIAccess();
    } catch (error) {
      Dom.toast(`MIDI is not allowed: ${error.message}`, 'refused');
      return;
    }
    access.onstatechange = listen;
    listen();
    showLearn(true);
    const count = access.inputs.size;
    Dom.toast(count ? `${Units.plural(count, 'MIDI input')} connected. Press Learn at a control, then move a fader.`
      : 'MIDI is ready. Connect a control surface, press Learn at a control, then move a fader.');
  }

  function listen() {
    access.inputs.forEach((input) => { input.onmidimessage = receive; });
  }

  function showLearn(visible) {
    Desk.channels.forEach(({ learn }) => { learn.hidden = !visible; });
  }

  function forget() {
    mapping = {};
    keepMapping();
    Dom.toast('All MIDI faders are forgotten.');
  }

  return {
    start() {
      if (Object.keys(mapping).length && navigator.requestMIDIAccess) connect();
    },

    /** Lets the next fader that moves control `id`. */
    learn(id) {
      learning = id;
      Dom.toast(`Move a fader for ${Desk.channels.get(id).label}.`);
    },

    /** What the help says about MIDI. */
    help() {
      const learnt = Object.entries(mapping).map(([fader, id]) => {
        const channel = Desk.channels.get(id);
        return `controller ${fader.split('.')[1]}: ${channel ? channel.label : id}`;
      });
      const known = learnt.length ? `Learnt: ${learnt.join(', ')}.` : 'No fader has been learnt.';
      return [
        Dom.make('h3', { textContent: 'MIDI' }),
        Dom.make('p', { textContent: `A control surface can move all faders of the desk. ${known}` }),
        Dom.make('div', { className: 'actions' }, Dom.button('Connect MIDI', connect), Dom.button('Forget all', forget, { disabled: !learnt.length })),
      ];
    },
  };
})();
