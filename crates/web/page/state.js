// What the page knows of the scene and how it is shown. Others subscribe to its changes and ask it to make some.
'use strict';

const State = (() => {
  const listeners = new Map();

  const state = {
    engine: null,
    history: new History(),
    /** The description of the scene, as the module gives it. */
    description: null,
    /** The rule table of the watched flow, or null. */
    table: null,
    /** How many commands are under way during which nothing must be simulated. */
    held: 0,
    /** Names of controllers, tables, queues, scenarios and traces. */
    names: null,
    /** The time window of the charts: seconds, or a number of RTTs as `10 RTT`. */
    window: '15',
    sameScale: true,
    reducedMotion: matchMedia('(prefers-reduced-motion: reduce)'),

    /** Calls `listener` at each `event`: description, scene, table or frame. */
    on(event, listener) {
      if (!listeners.has(event)) listeners.set(event, []);
      listeners.get(event).push(listener);
    },

    emit(event) {
      (listeners.get(event) || []).forEach((listener) => listener());
    },

    flow(lane, flow) {
      const lanes = state.description ? state.description.lanes : [];
      return lanes[lane] && lanes[lane].flows[flow];
    },

    get watched() {
      const { lane, flow } = state.description.watched;
      return { lane, flow, ...state.flow(lane, flow) };
    },

    /** The length of the visible window in seconds. */
    get seconds() {
      const [number, unit] = state.window.split(' ');
      return Number(number) * (unit === 'RTT' ? state.watched.rtt || 0.1 : 1);
    },

    /** The interval of samples, so that about 900 cover the window. */
    get interval() {
      return state.seconds / 900;
    },

    /** Runs `command` while nothing is simulated. */
    async exclusively(command) {
      state.held++;
      try {
        return await command();
      } finally {
        state.held--;
      }
    },

    /** Opens a scene, and plays it to the time `at` if that is given. */
    open(scene, at) {
      return state.exclusively(async () => {
        const description = await state.engine.call('open', at ? { scene, at } : { scene });
        state.history.clear();
        await describe(description);
        state.emit('scene');
      });
    },

    /** Makes a change now; tells whether it was accepted. */
    async change(text) {
      await Transport.settled();
      return attempt(() => state.engine.call('change', { change: text }), () => {
        // What had been simulated beyond the present is no longer true.
        state.history.truncate(state.description.now);
      });
    },

    /** Starts the scene again with other lanes: a list of lists of controllers. */
    setLanes(lanes) {
      return state.exclusively(() => attempt(() => state.engine.call('lanes', { lanes }), () => {
        state.history.clear();
        state.emit('scene');
      }));
    },

    /** Watches a flow; what it has done in the visible window is simulated again. */
    async watch(lane, flow) {
      await Transport.settled();
      const accepted = await attempt(() => state.engine.call('watch', { lane, flow }), () => state.history.forgetWatched());
      if (accepted) await Transport.seek(state.history.now, true);
      return accepted;
    },

    /** The controllers of each lane as the scene gives them. */
    lanesOfScene() {
      const given = new URLSearchParams(state.description.scene).getAll('cc').map((list) => list.split(','));
      if (given.length) return given;
      return state.description.lanes.map((lane) => lane.flows.map((flow) => flow.controller));
    },

    /** Reads the description again. */
    async refresh() {
      await describe(await state.engine.call('describe'));
    },
  };

  async function attempt(command, accepted) {
    try {
      const description = await command();
      state.description = description;
      accepted();
      await describe(description);
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      Dom.toast(error.message, 'refused');
      state.emit('description');
      return false;
    }
  }

  async function describe(description) {
    state.description = description;
    state.emit('description');
    await loadTable();
  }

  /** Loads the table of the watched flow if it may have changed. */
  async function loadTable() {
    const { lane, flow, table, controller } = state.watched;
    const edits = state.description.changes.slice(0, state.description.applied);
    const rules = edits.filter(({ text }) => text.startsWith('rule')).map(({ text }) => text);
    const key = table ? JSON.stringify([controller, lane, flow, rules]) : null;
    if (key === state.tableKey) return;
    state.tableKey = key;
    state.table = table ? await state.engine.call('table', { lane, flow }) : null;
    state.emit('table');
  }

  return state;
})();
