// Lessons: scenes with a question, played step by step.
'use strict';

const Lessons = (() => {
  let lessons = null;
  let lesson = null;
  let step = 0;

  /** The little Markdown of the lessons as nodes: *emphasis*, `code` and [links](#scene). */
  function render(text) {
    const pieces = text.split(/(\*[^*]+\*|`[^`]+`|\[[^\]]+\]\([^)]*\))/);
    return pieces.filter(Boolean).map((piece) => {
      const link = /^\[([^\]]+)\]\((#[^)]*)\)$/.exec(piece);
      if (link) return Dom.make('a', { href: link[2], textContent: link[1] });
      if (/^\*.+\*$/.test(piece)) return Dom.make('em', { textContent: piece.slice(1, -1) });
      if (/^`.+`$/.test(piece)) return Dom.make('code', { textContent: piece.slice(1, -1) });
      return piece;
    });
  }

  const paragraphs = (text) => text.split(/\n\s*\n/).map((part) => Dom.make('p', {}, ...render(part)));

  function showList() {
    lesson = null;
    const items = lessons.map((each, index) => {
      const button = Dom.button('', () => begin(each), { className: 'choice' });
      button.append(Dom.make('b', { textContent: `${index + 1}. ${each.title}` }), Dom.make('span', {}, ...render(each.question)));
      return Dom.make('li', {}, button);
    });
    panel().replaceChildren(
      Dom.make('div', { className: 'lesson-head' }, Dom.make('h2', { textContent: 'Lessons' }), closeButton()),
      Dom.make('ol', { className: 'choices lesson-list' }, ...items));
  }

  const panel = () => Dom.byId('lessons');
  const closeButton = () => Dom.button('Close', () => Lessons.toggle(), { className: 'plain' });

  async function begin(chosen) {
    lesson = chosen;
    step = 0;
    await State.open(lesson.scene);
    show();
    panel().querySelector('h2').focus();
  }

  /** Shows a step; the scene plays until its time. Back from a later one, it starts from the one before. */
  async function go(to) {
    step = to;
    const before = step ? lesson.steps[step - 1].at : 0;
    if (State.history.now > lesson.steps[step].at || step === 0) await Transport.seek(before);
    show();
  }

  function show() {
    const { title, question, steps } = lesson;
    const back = Dom.button('Back', () => go(step - 1), { disabled: step === 0, className: 'lesson-back' });
    const next = Dom.button('Next', () => go(step + 1), { disabled: step === steps.length - 1, className: 'primary lesson-next' });
    const place = Dom.make('span', { className: 'quiet', textContent: `${step + 1} of ${steps.length}` });
    const focused = document.activeElement && document.activeElement.className;
    panel().replaceChildren(
      Dom.make('div', { className: 'lesson-head' },
        Dom.make('h2', { textContent: title, tabIndex: -1 }), Dom.button('All lessons', showList, { className: 'plain' }), closeButton()),
      Dom.make('p', { className: 'question' }, ...render(question)),
      Dom.make('div', { className: 'step', aria: { live: 'polite' } }, ...paragraphs(steps[step].text)),
      Dom.make('div', { className: 'lesson-foot' }, back, next, place));
    if (/lesson-next/.test(focused)) next.disabled ? back.focus() : next.focus();
    if (/lesson-back/.test(focused)) back.disabled ? next.focus() : back.focus();
    Transport.playUntil(steps[step].at);
  }

  return {
    start() {
      Dom.byId('show-lessons').onclick = () => this.toggle();
    },

    async toggle() {
      lessons ||= await State.engine.call('lessons').then((answer) => (Array.isArray(answer) ? answer : answer.lessons));
      panel().hidden = !panel().hidden;
      Dom.byId('show-lessons').setAttribute('aria-expanded', String(!panel().hidden));
      if (!panel().hidden && !lesson) showList();
    },
  };
})();
