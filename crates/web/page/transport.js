// Time: playing, pausing, stepping and going back.
'use strict';

const Transport = (() => {
  // Real time per animation frame for the simulation (ms), and while it catches up.
  const BUDGET = 8;
  const CATCHING_UP = 24;
  const FASTEST = 1000;
  let playing = false;
  let speed = 1;
  // The time that the simulation shall reach, and where it then stops, if anywhere.
  let goal = 0;
  let stopAt = Infinity;
  // Whether a request to the worker is under way.
  let busy = false;
  let lastReal = 0;
  let catchingUp = false;
  // The last of the seeks that were asked for: they are done one after the other.
  let seeks = Promise.resolve();
  let measured = { real: 0, now: 0, achieved: NaN };
  let channel;
  let scrubbing = false;
  // The number of changes that had taken effect when the description was read.
  let noticed = 0;

  // A history that is filled from an earlier time on, and then replaces the one that is still shown; and who waits.
  let filling = null;
  let waiting = [];

  const history = () => filling || State.history;

  /** Measures the speed anew, since the time has jumped or another speed is asked for. */
  function restartMeasurement() {
    measured = { real: performance.now(), now: history().now, achieved: NaN };
  }

  function setPlaying(value) {
    playing = value;
    const button = Dom.byId('play');
    button.textContent = playing ? '❚❚' : '▶';
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    restartMeasurement();
  }

  function atEnd() {
    return history().end > 0 && history().now >= history().end - 1e-9;
  }

  async function toggle() {
    if (!playing && atEnd()) await seek(0);
    goal = history().now;
    stopAt = Infinity;
    setPlaying(!playing);
  }

  /** Advances towards the goal: called at each animation frame. */
  async function tick(real) {
    const seconds = Math.min(0.1, (real - lastReal) / 1000);
    lastReal = real;
    if (playing && !catchingUp) moveGoal(seconds);
    if (busy || State.held || document.hidden || goal <= history().now) return;
    busy = true;
    try {
      await advance();
    } finally {
      busy = false;
    }
  }

  /** Lets the goal run ahead with real time, but not far ahead of what has been simulated. */
  function moveGoal(seconds) {
    const { now, end } = history();
    const behind = now + speed * 0.25;
    goal = Math.min(goal + speed * seconds, behind, stopAt, end || Infinity);
  }

  async function advance() {
    const result = await State.engine.advance(goal, State.interval, catchingUp ? CATCHING_UP : BUDGET);
    history().take(result.frame);
    const { now, end } = history();
    if (now >= goal) finishFilling();
    if (!filling) State.emit('frame');
    await noticeChanges();
    if (now < goal) return;
    catchingUp = false;
    if (playing && (now >= stopAt || now >= end)) setPlaying(false);
  }

  /** Reads the description again once a recorded change has taken effect. */
  async function noticeChanges() {
    const reached = State.description.changes.filter(({ at }) => at <= history().now).length;
    if (filling || reached === State.description.applied || reached === noticed) return;
    noticed = reached;
    await State.refresh();
  }

  /**
   * Goes to `time`. What is to be seen before it is simulated again if it is no longer known, or if the samples shall
   * be `fresh`.
   */
  function seek(time, fresh = false) {
    const done = seeks.then(() => State.exclusively(() => seekNow(time, fresh)));
    seeks = done.catch(() => {});
    return done;
  }

  async function seekNow(time, fresh) {
    const to = Math.max(0, Math.min(time, history().end || time));
    const from = Math.max(0, to - State.seconds);
    if (to > history().now) {
      catchUp(to);
      return;
    }
    if (!fresh && history().covers(from + 2 * State.interval, to)) {
      await State.engine.call('seek', { time: to });
      history().truncate(to);
      history().now = goal = to;
      catchingUp = false;
      await collect();
      return;
    }
    await State.engine.call('seek', { time: from });
    filling = new History();
    filling.now = from;
    filling.end = State.history.end;
    catchUp(to);
    if (to === from) await collect();
  }

  /** Shows the history that has been filled. */
  function finishFilling() {
    if (!filling) return;
    State.history = filling;
    filling = null;
    waiting.forEach((resolve) => resolve());
    waiting = [];
  }

  /** Waits until the simulation has come back to the time that is shown. */
  async function settled() {
    await seeks;
    if (filling) await new Promise((resolve) => waiting.push(resolve));
  }

  /** Simulates up to `time` as fast as possible. */
  function catchUp(time) {
    goal = time;
    catchingUp = time > history().now;
    restartMeasurement();
  }

  /** Collects what has happened up to the present. */
  async function collect() {
    const { frame } = await State.engine.advance(history().now, State.interval, BUDGET);
    history().take(frame);
    finishFilling();
    // Somebody may have asked for a later time meanwhile.
    goal = Math.max(goal, history().now);
    restartMeasurement();
    State.emit('frame');
    await State.refresh();
  }

  async function step(by) {
    if (State.held) return;
    setPlaying(false);
    try {
      await State.exclusively(async () => {
        history().now = goal = (await State.engine.call('step', { by })).now;
        catchingUp = false;
        await collect();
      });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      Dom.toast(error.message, 'refused');
    }
  }

  /** Measures the speed that is reached, about once a second. */
  function measure() {
    const real = performance.now();
    if (!playing || real - measured.real < 900) return;
    const achieved = (history().now - measured.now) / ((real - measured.real) / 1000);
    measured = { real, now: history().now, achieved };
  }

  function speedText(value) {
    const asked = `${Number(value.toPrecision(3))}×`;
    const slow = playing && measured.achieved < 0.8 * speed && history().now < goal;
    return slow ? `${Number(measured.achieved.toPrecision(2))}× of ${asked} asked` : asked;
  }

  function describe() {
    measure();
    const { end } = history();
    const now = filling ? goal : history().now;
    const scrubber = Dom.byId('scrubber');
    if (!scrubbing) {
      scrubber.max = end || 1;
      scrubber.value = now;
      scrubber.setAttribute('aria-valuetext', `${Units.clock(now)} of ${Units.number(end)} s`);
    }
    Dom.setText(Dom.byId('clock'), catchingUp ? `${Units.clock(now)} → ${Units.clock(goal)}` : `${Units.clock(now)} / ${Units.number(end)} s`);
    Dom.setText(channel.output, speedText(speed));
  }

  function drawMarks() {
    const { changes, end } = State.description;
    const marks = changes.map(({ at, text }) => {
      const mark = Dom.button('', () => seek(at), { className: 'mark', title: `${Units.clock(at)}: ${text}` });
      mark.setAttribute('aria-label', `Go to the change ${text} at ${Units.clock(at)}`);
      mark.style.left = `${(100 * at) / (end || 1)}%`;
      return mark;
    });
    const key = JSON.stringify([changes, end]);
    const parent = Dom.byId('marks');
    if (parent.dataset.key === key) return;
    parent.dataset.key = key;
    parent.replaceChildren(...marks);
  }

  function setSpeed(value) {
    speed = value;
    goal = catchingUp ? goal : history().now;
    restartMeasurement();
    Share.update();
  }

  function startScrubber() {
    const scrubber = Dom.byId('scrubber');
    let wanted = null;
    // One seek at a time; the latest wish counts.
    const follow = async () => {
      while (wanted !== null) {
        const time = wanted;
        wanted = null;
        await seek(time);
      }
      scrubbing = false;
    };
    scrubber.oninput = () => {
      setPlaying(false);
      wanted = Number(scrubber.value);
      if (!scrubbing) {
        scrubbing = true;
        follow();
      }
    };
    scrubber.onkeydown = (event) => {
      const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!direction) return;
      event.preventDefault();
      scrub(direction);
    };
  }

  /** Goes back or on by a tenth of the window. */
  function scrub(direction) {
    setPlaying(false);
    return seek(history().now + direction * State.seconds / 10);
  }

  return {
    start() {
      channel = Desk.addChannel(Dom.byId('speed-channel'), {
        id: 'speed', label: 'Speed', ...Desk.logarithmic(0.001, FASTEST), step: 2, text: speedText,
      }, setSpeed);
      Desk.show(channel, speed);
      startScrubber();
      Dom.byId('play').onclick = toggle;
      Dom.byId('restart').onclick = () => seek(0);
      for (const by of ['event', 'ack', 'rtt']) Dom.byId(`step-${by}`).onclick = () => step(by);
      State.on('description', drawMarks);
      State.on('scene', () => {
        finishFilling();
        State.history.clear();
        speed = State.description.speed;
        Desk.show(channel, speed);
        goal = history().now = State.description.now;
        catchingUp = false;
        stopAt = Infinity;
        seek(goal);
      });
    },

    get playing() { return playing; },
    get speed() { return speed; },

    toggle,
    tick,
    step,
    seek,
    scrub,
    describe,
    settled,

    play() {
      goal = history().now;
      setPlaying(true);
    },

    /** Plays until `time`, and pauses there. */
    playUntil(time) {
      stopAt = time;
      goal = history().now;
      setPlaying(time > history().now);
    },
  };
})();
