// node_read.js FILE COUNT: node's own fs.readFile of a small file in a warm process, as an
// agent written in JavaScript would read it without a sandbox.
'use strict';
const fs = require('node:fs/promises');

async function main() {
  const [file, count] = [process.argv[2], Number(process.argv[3])];
  const samples = [];
  for (let i = -Math.min(count, 200); i < count; i++) {
    const begin = process.hrtime.bigint();
    const text = await fs.readFile(file, 'utf8');
    const taken = process.hrtime.bigint() - begin;
    if (text.length === 0) throw new Error(`${file} is empty`);
    if (i >= 0) samples.push(Number(taken));
  }
  samples.sort((a, b) => a - b);
  const at = (part) => samples[Math.min(samples.length - 1, Math.floor(samples.length * part))];
  console.log(`tool.node\tp50_ns\t${at(0.5)}`);
  console.log(`tool.node\tp99_ns\t${at(0.99)}`);
}

main();
