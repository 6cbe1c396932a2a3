// The dialog in which controllers are chosen: a list that can be searched.
'use strict';

const Chooser = (() => {
  let lane = null;
  let search, target, when, list;

  const everything = () => [...State.names.controllers, ...State.names.tables];

  function matches({ name, about }) {
    const words = search.value.toLowerCase().split(/\s+/);
    const text = `${name} ${about || ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function fillList() {
    const found = search.value.includes(',') ? [] : everything().filter(matches);
    const items = found.map(({ name, about }) => {
      const button = Dom.button('', () => take([name]), { className: 'choice' });
      button.append(Dom.make('b', { textContent: name }), Dom.make('span', { textContent: about || '' }));
      return Dom.make('li', {}, button);
    });
    if (!items.length) items.push(Dom.make('li', { className: 'quiet', textContent: 'Press Enter to take what is written above.' }));
    list.replaceChildren(...items);
  }

  /** The names written into the field: several, one exactly, or the first that is listed. */
  function takeWritten(event) {
    event.preventDefault();
    const written = search.value.split(',').map((name) => name.trim()).filter(Boolean);
    const first = everything().find(({ name }) => name === written[0]) || everything().find(matches);
    if (written.length > 1 || !first) take(written);
    else take([first.name]);
  }

  /** Gives these controllers to a new lane, to the lane from its start, or to its flows from now on. */
  async function take(names) {
    if (!names.length) return;
    Dom.byId('chooser').close();
    if (lane === null) await Lanes.add(names);
    else if (when.value === 'start') await restart(names);
    else await changeNow(names);
  }

  function restart(names) {
    const lanes = State.lanesOfScene();
    if (target.value === '') lanes[lane] = names;
    else {
      const flow = Number(target.value);
      const flows = State.description.lanes[lane].flows.map((_, index) => lanes[lane][index % lanes[lane].length]);
      flows[flow] = names[0];
      lanes[lane] = flows;
    }
    return State.setLanes(lanes);
  }

  async function changeNow(names) {
    if (target.value !== '') return State.change(`cc.${lane}.${target.value},${names[0]}`);
    if (names.length === 1) return State.change(`cc.${lane},${names[0]}`);
    const { flows } = State.description.lanes[lane];
    for (let flow = 0; flow < flows.length; flow++) {
      if (!await State.change(`cc.${lane}.${flow},${names[flow % names.length]}`)) return false;
    }
    return true;
  }

  function build() {
    search = Dom.make('input', { type: 'search', id: 'chooser-search', autocomplete: 'off', oninput: fillList });
    target = Dom.make('select', { id: 'chooser-target' });
    when = Dom.make('select', { id: 'chooser-when' });
    list = Dom.make('ul', { className: 'choices' });
    Dom.setOptions(when, [['now', 'from now on'], ['start', 'from the start']]);
  }

  return {
    /** Opens the dialog for a lane, or for a new lane if it is null; `flow` is chosen at first if it is given. */
    open(which, flow) {
      lane = which;
      if (!search) build();
      search.value = '';
      const fresh = lane === null;
      const flows = fresh ? [] : State.description.lanes[lane].flows.map((_, index) => [String(index), `flow ${index + 1}`]);
      Dom.setOptions(target, [['', 'all flows'], ...flows]);
      target.value = flow === undefined ? '' : String(flow);
      const form = Dom.make('form', { onsubmit: takeWritten, className: 'chooser-form' },
        Dom.make('label', { textContent: 'Search, or write names separated by commas ' }, search));
      if (!fresh) form.append(Dom.make('label', { textContent: 'For ' }, target), Dom.make('label', { textContent: 'When ' }, when));
      const title = fresh ? 'A new lane' : `Controllers of lane ${Lanes.LETTERS[lane]}`;
      fillList();
      Dom.showDialog(Dom.byId('chooser'), title, form, list);
      search.focus();
    },
  };
})();
