// Files that are opened or dropped on the page: tables, models, scenarios, traces and links.
'use strict';

const Files = (() => {
  const LARGEST = 32 * 1024 * 1024;

  /** A file's content as the module takes it: as text if it is text, and otherwise in base64. */
  async function read(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
    } catch {
      let letters = '';
      for (let at = 0; at < bytes.length; at += 32768) letters += String.fromCharCode(...bytes.subarray(at, at + 32768));
      return { base64: btoa(letters) };
    }
  }

  async function take(file) {
    if (file.size > LARGEST) {
      Dom.toast(`${file.name} is larger than ${LARGEST >> 20} MiB.`, 'refused');
      return;
    }
    try {
      const found = await State.engine.call('import', { name: file.name, ...await read(file) });
      if (found.warning) Dom.toast(found.warning);
      State.names = await State.engine.call('names');
      if (found.kind === 'table') offerTable(found);
      else await openScene(found, file);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      Dom.toast(`${file.name}: ${error.problem}`, 'refused');
    }
  }

  async function openScene({ kind, scene }, { name }) {
    if (await Share.open(scene)) Dom.toast(`The ${kind} ${name} is open.`);
  }

  function offerTable({ name }) {
    const dialog = Dom.byId('import-dialog');
    const { lane, flow, controller } = State.watched;
    const doing = (action) => () => {
      dialog.close();
      action();
    };
    Dom.showDialog(dialog, `The table ${name}`,
      Dom.make('p', { textContent: 'It can be chosen by its name from now on. What shall it do at once?' }),
      Dom.make('div', { className: 'actions' },
        Dom.button('Add a lane with it', doing(() => Lanes.add([name])), { disabled: Dom.byId('add-lane').disabled }),
        Dom.button(`Replace ${controller} of flow ${flow + 1} in lane ${Lanes.LETTERS[lane]}`,
          doing(() => State.change(`cc.${lane}.${flow},${name}`)))));
  }

  return {
    start() {
      const input = Dom.byId('file');
      Dom.byId('open-file').onclick = () => input.click();
      input.onchange = () => {
        [...input.files].forEach(take);
        input.value = '';
      };
      addEventListener('dragover', (event) => {
        event.preventDefault();
        document.body.classList.add('dropping');
      });
      addEventListener('dragleave', (event) => {
        if (!event.relatedTarget) document.body.classList.remove('dropping');
      });
      addEventListener('drop', (event) => {
        event.preventDefault();
        document.body.classList.remove('dropping');
        [...event.dataTransfer.files].forEach(take);
      });
    },
  };
})();
