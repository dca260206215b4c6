// client.js URL SCRATCH: a person's day with playwright: loads a page by http and by https,
// clicks, takes a picture, tries what may not be reached.  One line of JSON tells all.
const fs = require('fs');
const { chromium } = require(process.env.PLAYWRIGHT);
const [url, scratch] = process.argv.slice(2);

// What became of a page: its status, or why there is none.
async function visit(page, address) {
  try {
    const answer = await page.goto(address, { timeout: 20000 });
    return answer ? answer.status() : 0;
  } catch (error) {
    return String(error).match(/net::\w+/)?.[0] ?? String(error).split('\n')[0];
  }
}

(async () => {
  const told = {};
  const browser = await chromium.connectOverCDP(url, { timeout: 30000 });
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();

  told.version = browser.version();
  told.http = await visit(page, 'http://four.example.com/files/page.html');
  await page.click('#go');
  told.clicked = await page.title();
  await page.screenshot({ path: `${scratch}/client.png` });
  told.https = await visit(page, 'https://four.example.com/files/page.html');
  told.heading = await page.textContent('h1');
  // Off the list: an address of a private network, the sandbox's own ports, metadata.
  for (const [name, address] of Object.entries({
    inside: 'http://inside.example.com/',
    inside_tls: 'https://inside.example.com/',
    loopback: 'http://127.0.0.1:9222/json/version',
    metadata: 'http://169.254.169.254/latest/meta-data/',
  }))
    told[name] = await visit(await context.newPage(), address);
  await browser.close();
  fs.writeSync(1, JSON.stringify(told) + '\n');
})().catch((error) => {
  fs.writeSync(2, String(error).split('\n')[0] + '\n');
  process.exit(1);
});
