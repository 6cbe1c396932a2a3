// Small helpers for the document: elements, dialogs, toasts.
'use strict';

const Dom = (() => {
  const byId = (id) => document.getElementById(id);

  /** A new element with properties and children; `data` and `aria` are objects of attributes. */
  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === 'aria') Object.entries(value).forEach(([key, text]) => element.setAttribute(`aria-${key}`, text));
      else if (name === 'data') Object.assign(element.dataset, value);
      else element[name] = value;
    }
    element.append(...children);
    return element;
  }

  const button = (text, action, properties = {}) =>
    make('button', { type: 'button', textContent: text, onclick: action, ...properties });

  /** Sets a text only if it differs, so that nothing is laid out again for nothing. */
  function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  /** Replaces the options of a select, keeping its value where it still exists. */
  function setOptions(select, options) {
    const key = JSON.stringify(options);
    if (select.dataset.options === key) return;
    const before = select.value;
    select.replaceChildren(...options.map(([value, text]) => make('option', { value, textContent: text })));
    if (options.some(([value]) => String(value) === before)) select.value = before;
    select.dataset.options = key;
  }

  /** Fills a dialog with a title, its content and a button to close it, and shows it. */
  function showDialog(dialog, title, ...content) {
    const heading = make('h2', { id: dialog.getAttribute('aria-labelledby'), textContent: title });
    const close = button('Close', () => dialog.close(), { className: 'close' });
    dialog.replaceChildren(make('div', { className: 'dialog-head' }, heading, close), ...content);
    if (!dialog.open) dialog.showModal();
  }

  /** Shows a message for a while. */
  function toast(text, kind = 'plain') {
    const box = make('div', { className: `toast ${kind}` }, make('span', { textContent: text }));
    box.append(button('×', () => box.remove(), { aria: { label: 'Dismiss' } }));
    const toasts = byId('toasts');
    toasts.append(box);
    while (toasts.children.length > 3) toasts.firstElementChild.remove();
    setTimeout(() => box.remove(), 9000);
  }

  /** A table from a list of headings and rows of cells; the first cell of a row is its heading. */
  function fillTable(table, headings, rows) {
    const head = make('tr', {}, ...headings.map((text) => make('th', { scope: 'col', textContent: text })));
    const body = rows.map(([first, ...cells]) =>
      make('tr', {}, make('th', { scope: 'row', textContent: first }),
        ...cells.map((text) => make('td', { textContent: text }))));
    table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...body));
  }

  /** Offers `blob` as a file. */
  function download(name, blob) {
    const link = make('a', { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  return { byId, make, button, setText, setOptions, showDialog, toast, fillTable, download };
})();
