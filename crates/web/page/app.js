// Starts the page, and draws it at each animation frame.
'use strict';

(() => {
  // How often texts are brought up to date (ms), and descriptions for screen readers.
  const TEXTS = 150;
  const WORDS = 700;
  // How often pictures are drawn where motion is unwelcome (ms).
  const REDUCED = 500;
  let lastTexts = 0;
  let lastWords = 0;
  let lastPicture = 0;
  let stale = true;

  function fail(message) {
    const notice = Dom.byId('broken');
    notice.textContent = `The simulator has stopped: ${message}`;
    notice.hidden = false;
    document.body.classList.add('failed');
  }

  function draw(real) {
    if (!stale || (State.reducedMotion.matches && real - lastPicture < REDUCED)) return;
    lastPicture = real;
    stale = Lanes.draw();
    Watched.draw();
  }

  function describe(real) {
    if (real - lastTexts > TEXTS) {
      lastTexts = real;
      Transport.describe();
      Watched.describe();
    }
    if (real - lastWords > WORDS) {
      lastWords = real;
      Numbers.describe();
    }
  }

  function frame(real) {
    requestAnimationFrame(frame);
    if (!State.description || document.hidden) return;
    Transport.tick(real).catch((error) => fail(error.message));
    draw(real);
    describe(real);
  }

  const THEME = 'ratatouille.theme';

  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    Drawing.readColours();
    stale = true;
  }

  function startTheme() {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    let theme = null;
    try {
      theme = localStorage.getItem(THEME);
    } catch {
      // Then the system decides.
    }
    setTheme(theme);
    dark.onchange = () => setTheme();
    Dom.byId('theme').onclick = () => {
      const now = document.documentElement.dataset.theme || (dark.matches ? 'dark' : 'light');
      const next = now === 'dark' ? 'light' : 'dark';
      setTheme(next);
      try {
        localStorage.setItem(THEME, next);
      } catch {
        // It then holds for this visit only.
      }
    };
  }

  function showWarnings() {
    const notice = Dom.byId('warnings');
    Dom.setText(notice, State.description.warnings.join('; '));
    notice.hidden = !State.description.warnings.length;
  }

  function startView() {
    Dom.byId('window').onchange = ({ target }) => {
      State.window = target.value;
      // Samples for another window are too few or too many, or do not reach back far enough.
      Transport.seek(State.history.now, true);
    };
    Dom.byId('same-scale').onchange = ({ target }) => {
      State.sameScale = target.checked;
      stale = true;
    };
    ['frame', 'description', 'table', 'scene'].forEach((event) => State.on(event, () => { stale = true; }));
    addEventListener('resize', () => setTheme());
    State.on('description', showWarnings);
  }

  async function start() {
    startTheme();
    startView();
    [Lanes, Watched, Desk, Transport, Numbers, Lessons, Share, Files, Keys, Midi].forEach((part) => part.start());
    State.engine = new Engine(fail);
    try {
      await State.engine.load();
      State.names = await State.engine.call('names');
    } catch (error) {
      fail(error.message);
      return;
    }
    const given = location.hash.slice(1);
    const opened = await Share.open(given || Share.DEFAULT);
    requestAnimationFrame(frame);
    await Transport.settled();
    document.body.classList.add('ready');
    if (opened && !State.reducedMotion.matches) Transport.play();
  }

  addEventListener('unhandledrejection', ({ reason }) => fail(reason.message));
  start();
})();
