// The link to the scene: always in the address, copied by a button, and opened again.
'use strict';

const Share = (() => {
  const DEFAULT = 'cc=general-delta1&cc=cubic&flows=2';
  // The shortest time between two updates of the address (ms): browsers limit them.
  const PAUSE = 600;
  let timer = 0;

  /** The scene with the speed at which it is watched. */
  function scene() {
    const pairs = State.description.scene.split('&').filter((pair) => pair && !pair.startsWith('speed='));
    const speed = Number(Transport.speed.toPrecision(3));
    if (speed === 1) return pairs.join('&');
    const change = pairs.findIndex((pair) => pair.startsWith('change='));
    pairs.splice(change < 0 ? pairs.length : change, 0, `speed=${speed}`);
    return pairs.join('&');
  }

  function write() {
    timer = 0;
    const fragment = `#${scene()}`;
    if (location.hash !== fragment) history.replaceState(null, '', fragment);
  }

  /** Opens a scene; if it cannot be opened, says why and offers another. */
  async function open(text) {
    try {
      await State.open(text);
      Dom.byId('broken').hidden = true;
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      showBroken(error);
      return false;
    }
  }

  function showBroken(error) {
    const notice = Dom.byId('broken');
    notice.replaceChildren(
      Dom.make('b', { textContent: 'This link cannot be opened. ' }), Dom.make('span', { textContent: `${error.message} ` }),
      Dom.button('Open the default scene', () => open(DEFAULT)));
    notice.hidden = false;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
  }

  /** A text that can be selected, with a button to copy it. */
  function copyable(id, label, text) {
    const field = Dom.make('textarea', { id, readOnly: true, rows: 3, value: text });
    const button = Dom.button('Copy', async () => {
      const done = await copy(text);
      if (!done) field.select();
      button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    });
    return Dom.make('div', { className: 'copyable' }, Dom.make('label', { htmlFor: id, textContent: label }), field, button);
  }

  async function share() {
    write();
    const url = location.href;
    const command = `exm simulate '#${scene().replace(/'/g, '%27')}'`;
    const copied = await copy(url);
    const note = copied ? 'The link has been copied.' : 'Copy the link:';
    Dom.showDialog(Dom.byId('share-dialog'), 'Share this scene',
      Dom.make('p', { textContent: `${note} It holds the network, the controllers, the seed and every change, so it gives the same packets everywhere.` }),
      copyable('share-link', 'Link', url),
      copyable('share-command', 'The same packets in a terminal', command));
  }

  return {
    DEFAULT,
    open,

    start() {
      State.on('description', () => this.update());
      Dom.byId('share').onclick = share;
      addEventListener('hashchange', () => {
        if (!State.description || location.hash !== `#${scene()}`) open(location.hash.slice(1));
      });
    },

    /** Brings the address up to date soon. */
    update() {
      if (!timer && State.description) timer = setTimeout(write, PAUSE);
    },
  };
})();
