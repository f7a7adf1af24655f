// Playwright's snapshots of the pages of a folder, taken in Chromium.
// node oracle.mjs REQUEST.json: {modules, rules, folder, pages: {path: steps}, scripts, before, out}
import fs from 'fs';
import http from 'http';
import path from 'path';
import { createRequire } from 'module';

const request = JSON.parse(fs.readFileSync(process.argv[2], 'utf-8'));
const { chromium } = createRequire(request.modules + '/')('playwright-' + request.rules);
const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };

const server = http.createServer((query, reply) => {
  const file = path.join(request.folder, decodeURIComponent(new URL(query.url, 'http://page.test').pathname));
  fs.readFile(file, (error, content) => {
    reply.writeHead(error ? 404 : 200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
    reply.end(error ? '' : content);
  });
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: process.getuid() ? [] : ['--no-sandbox'] });
const context = await browser.newContext({ javaScriptEnabled: request.scripts, viewport: { width: 1280, height: 720 } });
await context.route(url => url.hostname !== '127.0.0.1', route => route.abort());

const snapshot = page => page.ariaSnapshot ? page.ariaSnapshot({ mode: 'ai' }) : page._snapshotForAI().then(both => both.full);

async function perform(page, [verb, selector, value]) {
  const element = page.locator(selector).first();
  switch (verb) {
    case 'fill': return element.fill(value);
    case 'check': return element.check({ force: true });
    case 'uncheck': return element.uncheck();
    case 'select': return element.selectOption(value.map(index => ({ index })));
    case 'toggle': return element.locator('summary').click();
    case 'focus': return element.focus();
  }
  throw new Error(`no such step: ${verb}`);
}

// What a program of the page has changed, by the number of the element.
const liveState = () => {
  const all = [...document.querySelectorAll('*')], state = { values: {}, checked: {}, selected: {}, focus: null };
  all.forEach((element, number) => {
    if (element.matches('textarea, input:not([type=checkbox], [type=radio])') && element.value !== element.defaultValue)
      state.values[number] = element.value;
    if (element.matches('[type=checkbox], [type=radio]') && element.checked !== element.defaultChecked)
      state.checked[number] = element.checked;
    if (element.matches('select'))
      state.selected[number] = [...element.options].flatMap((option, place) => option.selected ? [place] : []);
    if (element === document.activeElement && element !== document.body)
      state.focus = number;
  });
  return state;
};

const found = {};
for (const [name, steps] of Object.entries(request.pages)) {
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/${name}`);
  const result = { snapshots: [] };
  if (request.before) {
    await page.evaluate(request.before);
    await page.waitForTimeout(150);
    result.html = await page.content();
    result.live = await page.evaluate(liveState);
  }
  result.snapshots.push(await snapshot(page));
  for (const step of steps) {
    await perform(page, step);
    result.snapshots.push(await snapshot(page));
  }
  found[name] = result;
  await page.close();
}
await browser.close();
server.close();
fs.writeFileSync(request.out, JSON.stringify(found));
