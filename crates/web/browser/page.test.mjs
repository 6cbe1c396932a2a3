// Tests of the page in Chromium. The environment names the programs: EXM, CHROMIUM, and ANSWERS, which is the example
// `answers` of exm-web: the page's module, built natively.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

const { ANSWERS, CHROMIUM, EXM } = process.env;
const FOLDER = mkdtempSync(join(tmpdir(), 'exm-page-'));
const PAGE = join(FOLDER, 'ratatouille.html');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
let server;
let url;

before(async () => {
  execFileSync(EXM, ['ratatouille', '--page', PAGE], { stdio: 'pipe' });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  server = spawn(EXM, ['ratatouille', '--no-open'], { stdio: ['ignore', 'pipe', 'ignore'] });
  url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
});

after(async () => {
  await browser?.close();
  server?.kill();
  rmSync(FOLDER, { recursive: true, force: true });
});

/** Opens the page on a scene, paused at its start, and fails the test at any error that the browser reports. */
async function open(scene, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  const errors = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('request', (request) => {
    const own = [url, 'file:', 'blob:', 'data:'].some((start) => request.url().startsWith(start));
    if (!own) errors.push(`a request to ${request.url()}`);
  });
  await page.goto(`${options.from ?? url}#${scene}`);
  await page.waitForFunction(() => document.body.classList.contains('ready'));
  page.errors = errors;
  page.finish = async () => {
    assert.deepEqual(errors, []);
    await context.close();
  };
  return page;
}

/** Simulates up to `time`, and waits until the page shows it. */
async function playTo(page, time) {
  await page.evaluate((to) => Transport.seek(to), time);
  await page.waitForFunction((to) => State.history.now >= to - 1e-9, time);
  await page.evaluate(() => State.refresh());
}

const described = (page) => page.evaluate(() => State.description);
const ask = (page, command, keys) => page.evaluate(([name, rest]) => State.engine.call(name, rest), [command, keys]);

/** Waits until the changes of the scene end in `text`. */
function changed(page, text) {
  return page.waitForFunction((wanted) => State.description.changes.some((change) => change.text.startsWith(wanted)), text);
}

// Ten scenes of all kinds of networks and controllers.
const SCENES = [
  'link=15Mbps&rtt=150ms&flows=2&cc=general-delta1&cc=cubic&until=10s',
  'link=5Mbps&rtt=40ms&buffer=1%20BDP&flows=8&cc=reno,vegas&cc=bbr&until=10s',
  'link=100Mbps&rtt=20ms&flows=4&cc=learn-100x&loss=0.1%25&until=5s',
  'flows=3&on=exp%20100%20kB&off=exp%200.2%20s&cc=general-delta10&cc=compound&seed=7&until=10s',
  'trace=lte&rtt=40ms&cc=sprout&cc=cubic&until=8s',
  'trace=umts&rtt=80ms&cc=sprout-ewma&cc=ledbat&seed=3&until=8s',
  'link=10Mbps&queue=codel&flows=4&cc=cubic-linux&cc=1x&until=8s',
  'link=10Mbps&queue=red%20ecn=true&flows=2&cc=signals-red-ecn&cc=dctcp&until=8s',
  'scenario=parking-lot&until=10s',
  'link=15Mbps&flows=1&cc=aimd&cc=general-delta0.1&until=13s&change=2s,flows,4&change=4s,rate,3Mbps&change=6s,queue,codel&change=8s,delay,60ms&change=10s,cc.0,bbr&change=12s,rule.1.0.3,0.5%204%202ms',
];

/** What the module answers natively to each of these commands. */
function answers(commands) {
  const input = commands.map((command) => `${JSON.stringify(command)}\n`).join('');
  const output = execFileSync(ANSWERS, { input, maxBuffer: 1 << 30 });
  return String(output).trim().split('\n').map((line) => JSON.parse(line));
}

/** Advances without a budget of time, and returns the bytes of the frame. */
async function frameAt(page, until, interval) {
  const text = await page.evaluate(async ([to, every]) => {
    const { frame } = await State.engine.advance(to, every, 1e9);
    const reader = new FileReader();
    reader.readAsDataURL(new Blob([frame]));
    await new Promise((resolve) => { reader.onload = resolve; });
    return reader.result.split(',')[1];
  }, [until, interval]);
  return doubles(Buffer.from(text, 'base64'));
}

/** The numbers of a frame. What is not a number may have any sign. */
const doubles = (bytes) => new Float64Array(Uint8Array.from(bytes).buffer);

describe('the simulation', () => {
  it('is bit for bit the native one', async () => {
    const page = await open(SCENES[0]);
    for (const scene of SCENES) {
      const { end } = await ask(page, 'open', { scene });
      const description = await ask(page, 'describe');
      const frame = await frameAt(page, end, 0.01);
      const report = await ask(page, 'report');
      const native = answers([
        { command: 'open', scene }, { command: 'describe' }, { advance: [end, 0.01, 1e15] }, { frame: true }, { command: 'report' },
      ]);
      assert.deepEqual(description, native[1], scene);
      const other = doubles(Buffer.from(native[3].frame, 'base64'));
      const same = frame.length === other.length && frame.every((value, index) => Object.is(value, other[index]));
      assert.ok(frame.length > 1000 && same, `frames differ: ${scene}`);
      assert.deepEqual(report, native[4], scene);
    }
    await page.finish();
  });

  it('gives the results of exm simulate', async () => {
    const page = await open(SCENES[0]);
    for (const scene of SCENES) {
      const { end } = await ask(page, 'open', { scene });
      await frameAt(page, end, 1);
      const { lanes } = await ask(page, 'report');
      const printed = JSON.parse(execFileSync(EXM, ['simulate', `#${scene}`, '--json'], { stdio: ['ignore', 'pipe', 'ignore'] }));
      const native = (printed.points ?? [printed]).map((point) => point.runs[0].flows);
      const figures = ({ sent, lost, throughput }) => [sent, lost, throughput];
      const theirs = (flow) => [flow.sent, flow.lost + flow.dropped, Math.round(flow.throughput_mbps * 1e6)];
      assert.deepEqual(lanes.map(({ flows }) => flows.map(figures)), native.map((flows) => flows.map(theirs)), scene);
    }
    await page.finish();
  });
});

describe('the page', () => {
  it('opens from a file and from a server, small and without other hosts', async () => {
    for (const from of [`file://${PAGE}`, url]) {
      const page = await open('', { from });
      const { lanes, active } = await described(page);
      assert.deepEqual([lanes.map(({ name }) => name), active], [['general-delta1', 'cubic'], 2]);
      await page.finish();
    }
    // For developers it is built without link-time optimisation; the page of a release is smaller.
    assert.ok(readFileSync(PAGE).length < 3.5e6, 'the page is under 3.5 MB as it is, and smaller compressed');
  });

  it('says what is wrong with a link, and how to go on', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}#cc=cubik`);
    const notice = page.locator('#broken');
    await notice.getByText('did you mean "cubic"').waitFor();
    await notice.getByRole('button').click();
    await page.waitForFunction(() => State.description);
    assert.ok(await notice.isHidden());
    await context.close();
  });

  it('records what its controls change', async () => {
    const page = await open('flows=1&cc=general-delta1&cc=cubic&until=30s');
    await playTo(page, 1);
    const faders = [
      ['rate', 0.5, (link) => link.rate, 10e6], ['rtt', 0.6, (_, scene) => scene.lanes[0].flows[0].rtt, 0.0956],
      ['buffer', 0.4, (link) => link.buffer_packets > 0, true], ['loss', 0.5, (link) => Number(link.loss.toPrecision(2)), 0.0055],
      ['flows', 0.5, (_, scene) => scene.active, 4],
    ];
    const names = { rate: 'rate', rtt: 'delay', buffer: 'buffer', loss: 'loss', flows: 'flows' };
    for (const [id, unit, read, expected] of faders) {
      await page.locator(`#channel-${id}`).evaluate((slider, to) => {
        slider.value = to;
        slider.dispatchEvent(new Event('input'));
      }, unit);
      await changed(page, names[id]);
      const scene = await described(page);
      const value = read(scene.links[0], scene);
      if (typeof expected === 'number') assert.ok(Math.abs(value / expected - 1) < 0.02, `${id}: ${value}`);
      else assert.equal(value, expected, id);
    }
    await page.selectOption('#queue-name', 'codel');
    await changed(page, 'queue,codel');
    await page.fill('#buffer-packets', '77');
    await page.press('#buffer-packets', 'Enter');
    await changed(page, 'buffer,77 packets');
    await page.selectOption('#load-preset', { index: 2 });
    await changed(page, 'on,exp');
    const scene = await described(page);
    assert.equal(scene.links[0].queue, 'codel');
    assert.equal(scene.links[0].buffer_packets, 77);
    assert.equal(scene.changes.length, 9);
    assert.ok(scene.changes.every(({ at }) => at === 1));
    await page.finish();
  });

  it('is used by the keyboard alone', async () => {
    const page = await open('flows=2&cc=general-delta1&cc=cubic&until=30s');
    const press = (key) => page.keyboard.press(key);
    await press(' ');
    await page.waitForFunction(() => State.history.now > 0.3);
    await press(' ');
    assert.equal(await page.evaluate(() => Transport.playing), false);
    for (const [key, change] of [['ArrowUp', 'rate'], [']', 'delay'], ['b', 'buffer'], ['E', 'loss'], ['+', 'flows,3']]) {
      await press(key);
      await changed(page, change);
    }
    await press('2');
    await page.waitForFunction(() => State.description.watched.flow === 1);
    await press('l');
    await page.waitForFunction(() => State.description.watched.lane === 1);
    for (const key of [',', '.', '/']) {
      // What is watched anew is simulated again first, which takes longer on a busy machine.
      await page.evaluate(() => Transport.settled());
      const before = await page.evaluate(() => State.history.now);
      await press(key);
      await page.waitForFunction((time) => State.history.now > time, before);
    }
    await press('Home');
    await page.waitForFunction(() => State.history.now === 0);
    await press('?');
    await page.getByRole('dialog').getByText('play or pause').waitFor();
    await press('Escape');
    await press('a');
    await page.fill('#chooser-search', 'bbr1');
    await page.press('#chooser-search', 'Enter');
    await page.waitForFunction(() => State.description.lanes.length === 3);
    assert.equal((await described(page)).lanes[2].name, 'bbr1');
    // Tab reaches every control in turn, and shows where it is.
    const reached = new Set();
    for (let count = 0; count < 120; count++) {
      await press('Tab');
      reached.add(await page.evaluate(() => document.activeElement.id));
    }
    for (const id of ['play', 'scrubber', 'channel-rate', 'queue-name', 'load-on', 'watched-flow', 'map-x', 'share', 'add-lane']) {
      const hidden = await page.locator(`#${id}`).isHidden();
      assert.ok(hidden || reached.has(id), `Tab does not reach ${id}`);
    }
    await page.finish();
  });

  it('shows the same again from its link', async () => {
    const page = await open('flows=1&cc=general-delta1&cc=cubic&until=10s&seed=3');
    await playTo(page, 2);
    for (const change of ['rate,5Mbps', 'flows,3', 'rule.0.0.3,0.7 5 2ms']) await page.evaluate((text) => State.change(text), change);
    await playTo(page, 6);
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('rule.0.0.3,0.7 5 2ms'));
    const link = new URL(page.url()).hash.slice(1);
    const again = await open(link);
    await playTo(again, 6);
    const numbers = async (shown) => [await ask(shown, 'report'), await ask(shown, 'describe')];
    assert.deepEqual(await numbers(again), await numbers(page));
    // The charts look the same, too: a seventh of what their pictures are made of differs in one place of a thousand at most.
    const pictures = [];
    for (const shown of [page, again]) {
      await shown.waitForTimeout(700);
      pictures.push(await shown.evaluate(() => [...document.querySelectorAll('.lane .chart')].flatMap((canvas) =>
        [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter((_, index) => index % 7 === 0)])));
    }
    const [one, other] = pictures;
    assert.equal(one.length, other.length);
    const different = one.filter((value, index) => Math.abs(value - other[index]) > 16).length / one.length;
    assert.ok(new Set(one).size > 10 && different < 0.001, `${different} of the picture differs`);
    await page.finish();
    await again.finish();
  });

  it('goes back, edits a rule, and saves the table', async () => {
    const page = await open('cc=1x&flows=2&until=10s');
    await playTo(page, 5);
    const before = await ask(page, 'report');
    await page.evaluate(() => Transport.seek(2));
    await playTo(page, 5);
    assert.deepEqual(await ask(page, 'report'), before, 'the past has one course');
    await page.evaluate(() => Transport.seek(2));
    await page.fill('#rule-increment', '2');
    await page.click('#rule-form button[type=submit]');
    await changed(page, 'rule.0.0.');
    await playTo(page, 5);
    assert.notDeepEqual(await ask(page, 'report'), before);
    const download = page.waitForEvent('download');
    await page.click('#save-table');
    const saved = JSON.parse(readFileSync(await (await download).path(), 'utf8'));
    assert.ok(JSON.stringify(saved).includes('"increment": 2') || JSON.stringify(saved).includes('"increment":2'));
    await page.finish();
  });

  it('takes files', async () => {
    const page = await open('flows=1&cc=cubic');
    const give = (name, text) => page.setInputFiles('#file', { name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const table = await page.evaluate(async () => {
      await State.open('cc=1x');
      return (await State.engine.call('save', { lane: 0, flow: 0 })).text;
    });
    await give('mine.json', table);
    await page.getByRole('button', { name: 'Add a lane with it' }).click();
    await page.waitForFunction(() => State.description.lanes.length === 2);
    assert.equal((await described(page)).lanes[1].name, 'mine');
    const trace = Array.from({ length: 3000 }, (_, index) => `${index * 4}\n`).join('');
    await give('train.trace', trace);
    await page.waitForFunction(() => State.description.links[0].trace === 'train');
    await give('nonsense.txt', 'to be or not to be');
    await page.locator('#toasts').getByText('give a rule table').waitFor();
    await page.finish();
  });

  it('follows a MIDI surface', async () => {
    const page = await open('flows=1&cc=cubic');
    await page.evaluate(() => {
      const input = {};
      navigator.requestMIDIAccess = async () => ({ inputs: new Map([['one', input]]) });
      window.fader = (controller, value) => input.onmidimessage({ data: [0xb0, controller, value] });
    });
    await page.keyboard.press('?');
    await page.getByRole('button', { name: 'Connect MIDI' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Learn a MIDI fader for Link rate' }).click();
    await page.evaluate(() => window.fader(7, 0));
    await page.evaluate(() => window.fader(7, 127));
    await changed(page, 'rate,1Gbps');
    await page.finish();
  });

  it('teaches', async () => {
    const page = await open('');
    await page.click('#show-lessons');
    await page.locator('.lesson-list li').first().waitFor();
    assert.equal(await page.locator('.lesson-list li').count(), 6);
    await page.getByRole('button', { name: /orbit/ }).click();
    await page.waitForFunction(() => State.description.scene.includes('learn-100x'));
    const { steps } = (await ask(page, 'lessons'))[2];
    await page.waitForFunction((time) => Math.abs(State.history.now - time) < 1e-6, steps[0].at, { timeout: 30000 });
    await page.click('.lesson-next');
    assert.ok((await page.locator('.step').textContent()).startsWith(steps[1].text.slice(0, 20)));
    await page.finish();
  });

  it('passes an audit of its accessibility, with all panels open', async () => {
    for (const colorScheme of ['light', 'dark']) {
      for (const [width, height] of [[1280, 800], [400, 850]]) {
        const page = await open('flows=2&cc=general-delta1&cc=cubic', { colorScheme, viewport: { width, height } });
        await playTo(page, 3);
        const audit = async (about) => {
          await page.evaluate(AXE);
          const { violations } = await page.evaluate(() => axe.run());
          const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
          assert.deepEqual(found, [], `${about}, ${colorScheme}, ${width} pixels wide`);
        };
        await audit('at first');
        await page.click('#show-lessons');
        await page.click('#show-numbers');
        await audit('with lessons and numbers');
        await page.click('#help');
        await audit('with the help');
        await page.keyboard.press('Escape');
        await page.evaluate(() => State.open('trace=lte&rtt=40ms&cc=sprout'));
        await playTo(page, 3);
        await audit('with Sprout');
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `it is ${wide} pixels wider than the window of ${width}`);
        await page.finish();
      }
    }
  });

  it('draws frames', async (test) => {
    for (const scene of ['link=15Mbps&rtt=150ms&flows=8&cc=cubic', 'link=1Gbps&rtt=150ms&flows=8&cc=cubic&speed=0.01']) {
      const page = await open(scene, { reducedMotion: 'no-preference' });
      const rate = await page.evaluate(() => new Promise((resolve) => {
        let count = 0;
        const begin = performance.now();
        const frame = () => {
          count += 1;
          const elapsed = performance.now() - begin;
          if (elapsed < 3000) requestAnimationFrame(frame);
          else resolve((1000 * count) / elapsed);
        };
        requestAnimationFrame(frame);
      }));
      test.diagnostic(`${rate.toFixed(1)} frames a second: ${scene}`);
      assert.ok(rate > 1);
      assert.ok(await page.evaluate(() => State.history.now) > 0, 'the simulation goes on');
      await page.finish();
    }
  });
});
