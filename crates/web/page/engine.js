// Messages to the worker that holds the module, and its answers.
'use strict';

class Engine {
  /** Starts the worker. `failed` is called with a text if it cannot go on. */
  constructor(failed) {
    const source = Dom.byId('worker').textContent;
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.next = 1;
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => failed(event.message);
  }

  receive({ id, result, failure }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (failure === undefined) resolve(result);
    else reject(new Error(failure));
  }

  request(message) {
    const id = this.next++;
    this.worker.postMessage({ id, ...message });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  load() {
    return this.request({ load: Dom.byId('module').textContent });
  }

  /** Executes a command. A refusal is thrown as `Refused`. */
  async call(command, keys = {}) {
    const answer = await this.request({ command: { command, ...keys } });
    if (answer.error) throw new Refused(answer.error);
    return answer;
  }

  /** Simulates up to `until` for at most `budget` ms, and returns `{now, frame}`. */
  advance(until, interval, budget) {
    return this.request({ advance: { until, interval, budget } });
  }
}

/** A command that the module has refused. */
class Refused extends Error {
  constructor({ key, problem }) {
    super(key ? `${key}: ${problem}` : problem);
    this.key = key;
    this.problem = problem;
  }
}
