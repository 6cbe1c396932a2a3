// Tests of the page in a real browser. `exm` is the program's path in EXM; Chromium's is in CHROMIUM.
//
// Screenshots are compared with what a test before saw in the same run: fonts differ between machines.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

const EXM = process.env.EXM;
const FOLDER = mkdtempSync(join(tmpdir(), 'exm-page-'));
const PAGE = join(FOLDER, 'ratatouille.html');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
let server;
let url;

before(async () => {
  execFileSync(EXM, ['ratatouille', '--page', PAGE], { stdio: 'pipe' });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
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
  const errors = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('request', (request) => {
    const own = [url, 'file:', 'blob:', 'data:'].some((start) => request.url().startsWith(start));
    if (!own) errors.push(`a request to ${request.url()}`);
  });
  await page.goto(`${options.from ?? url}#${scene}`);
  await page.waitForFunction(() => State.description && State.names);
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
  await page.waitForFunction((to) => State.history.now >= to - 1e-9, time, { timeout: 60000 });
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
  'link=15Mbps&rtt=150ms&flows=2&cc=general-delta1&cc=cubic&until=20s',
  'link=5Mbps&rtt=40ms&buffer=1%20BDP&flows=8&cc=reno,vegas&cc=bbr&until=10s',
  'link=100Mbps&rtt=20ms&flows=4&cc=learn-100x&loss=0.1%25&until=5s',
  'flows=3&on=exp%20100%20kB&off=exp%200.2%20s&cc=general-delta10&cc=compound&seed=7&until=20s',
  'trace=lte&rtt=40ms&cc=sprout&cc=cubic&until=15s',
  'trace=umts&rtt=80ms&cc=sprout-ewma&cc=ledbat&seed=3&until=15s',
  'link=10Mbps&queue=codel&flows=4&cc=cubic-linux&cc=1x&until=15s',
  'link=10Mbps&queue=red%20ecn=true&flows=2&cc=signals-red-ecn&cc=dctcp&until=15s',
  'scenario=parking-lot&until=10s',
  'link=15Mbps&flows=1&cc=aimd&cc=general-delta0.1&until=20s&change=2s,flows,4&change=4s,rate,3Mbps&change=6s,queue,codel&change=8s,delay,60ms&change=10s,cc.0,bbr&change=12s,rule.1.0.3,0.5%204%202ms',
];

describe('the page', () => {
  it('computes what exm simulate computes', async () => {
    const page = await open(SCENES[0]);
    for (const scene of SCENES) {
      await page.evaluate((text) => State.open(text), scene);
      await playTo(page, (await described(page)).end);
      const here = await ask(page, 'report', {});
      const printed = JSON.parse(execFileSync(EXM, ['simulate', `#${scene}`, '--json'], { stdio: ['ignore', 'pipe', 'ignore'] }));
      const points = printed.points ?? [printed];
      assert.equal(here.lanes.length, points.length, scene);
      here.lanes.forEach(({ flows }, lane) => {
        const native = (points[lane].results ?? points[lane]).runs[0].flows;
        flows.forEach((flow, index) => {
          const other = native[index];
          const same = [flow.sent, flow.throughput, flow.rtt];
          const theirs = [other.sent, Math.round(other.throughput_mbps * 1e6), other.mean_rtt_ms === null ? null : other.mean_rtt_ms / 1000];
          assert.equal(same[0], theirs[0], `${scene}: packets sent`);
          assert.equal(same[1], theirs[1], `${scene}: throughput`);
          if (theirs[2] !== null) assert.ok(Math.abs(same[2] - theirs[2]) < 1e-9, `${scene}: RTT ${same[2]}, ${theirs[2]}`);
        });
      });
    }
    await page.finish();
  });
});
