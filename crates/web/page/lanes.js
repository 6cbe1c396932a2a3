// The lanes: for each its controllers, the picture of its path, and its charts.
'use strict';

const Lanes = (() => {
  const LETTERS = 'ABCD';
  const MOST = LETTERS.length;
  let shown = [];

  function build(lane) {
    const letter = Dom.make('span', { className: 'quiet', textContent: `${LETTERS[lane]} ` });
    const names = Dom.make('span');
    const heading = Dom.make('h2', { className: 'lane-name' }, letter, names);
    const chips = Dom.make('div', { className: 'chips', role: 'group', aria: { label: `Flows of lane ${LETTERS[lane]}: watch one` } });
    const controllers = Dom.button('Change…', () => Chooser.open(lane), { className: 'plain' });
    controllers.setAttribute('aria-label', `Change the controllers of lane ${LETTERS[lane]}`);
    const remove = Dom.button('×', () => removeLane(lane), { className: 'plain', aria: { label: `Remove lane ${LETTERS[lane]}` } });
    const path = Dom.make('canvas', { className: 'path', role: 'img', aria: { label: `Path of lane ${LETTERS[lane]}` } });
    const chart = Dom.make('canvas', { className: 'chart', role: 'img', aria: { label: `Charts of lane ${LETTERS[lane]}` } });
    const spacer = Dom.make('span', { className: 'spacer' });
    const head = Dom.make('div', { className: 'lane-head' }, heading, chips, spacer, controllers, remove);
    const element = Dom.make('article', { className: 'lane' }, head, path, chart);
    return { element, letter, names, chips, remove, path, chart };
  }

  const unique = (list) => [...new Set(list)];

  /** The controllers of a lane's active flows, in a few words. */
  function controllersOf(lane) {
    const flows = State.description.lanes[lane].flows.slice(0, Math.max(1, State.description.active));
    return unique(flows.map(({ controller, edited }) => controller + (edited ? ' (edited)' : ''))).join(', ');
  }

  function chip(lane, flow, several) {
    const { controller } = State.flow(lane, flow);
    const watched = State.description.watched;
    const pressed = watched.lane === lane && watched.flow === flow;
    const number = Dom.make('span', { className: `badge flow-${flow % 8 + 1}`, textContent: flow + 1 });
    const button = Dom.button('', () => State.watch(lane, flow), { className: 'chip', data: { lane, flow } });
    const hidden = (text) => Dom.make('span', { className: 'hidden', textContent: text });
    button.append(hidden('Watch flow '), number, several ? ` ${controller}` : hidden(` ${controller}`), hidden(` in lane ${LETTERS[lane]}`));
    button.setAttribute('aria-pressed', String(pressed));
    return button;
  }

  /** Puts `elements` into `parent`, keeping the focus where it was. */
  function replaceKeepingFocus(parent, elements) {
    const focused = parent.contains(document.activeElement) ? [...parent.children].indexOf(document.activeElement) : -1;
    parent.replaceChildren(...elements);
    if (focused >= 0 && elements[focused]) elements[focused].focus();
  }

  function update() {
    const { lanes, active } = State.description;
    if (shown.length !== lanes.length) {
      shown = lanes.map((_, lane) => build(lane));
      Dom.byId('lanes').replaceChildren(...shown.map(({ element }) => element));
    }
    Dom.byId('lanes').dataset.lanes = lanes.length;
    shown.forEach(({ letter, names, chips, remove }, lane) => {
      const controllers = controllersOf(lane);
      Dom.setText(names, controllers);
      letter.hidden = remove.hidden = lanes.length === 1;
      const several = controllers.includes(', ');
      const flows = lanes[lane].flows.slice(0, active).map((_, flow) => chip(lane, flow, several));
      replaceKeepingFocus(chips, flows);
    });
    Dom.byId('add-lane').disabled = lanes.length >= MOST;
  }

  function removeLane(lane) {
    State.setLanes(State.lanesOfScene().filter((_, index) => index !== lane));
  }

  return {
    LETTERS,

    start() {
      State.on('description', update);
      Dom.byId('add-lane').onclick = () => Chooser.open(null);
    },

    controllersOf,

    /** Adds a lane with these controllers. */
    add: (controllers) => State.setLanes([...State.lanesOfScene(), controllers]),

    /** Draws all lanes; tells whether they are to be drawn again. */
    draw() {
      const again = Charts.draw(shown.map(({ chart }) => chart));
      shown.forEach(({ path }, lane) => PathPicture.draw(path, lane));
      return again;
    },

    /** Describes each lane's charts in words. */
    describe(words) {
      shown.forEach(({ chart, path }, lane) => {
        chart.setAttribute('aria-label', words(lane));
        path.setAttribute('aria-label', `Path of lane ${LETTERS[lane]}: senders, queue, link, receivers, and ACKs on their way back`);
      });
    },
  };
})();
