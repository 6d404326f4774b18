// Makes a component: node build.mjs <source> <folder of WIT> <world> <output>
import { readFile, writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const [source, witPath, worldName, output] = process.argv.slice(2);
const text = await readFile(source, 'utf8');
// A plugin is called and never listens: the engine's own server is left out.
const { component } = await componentize(text, { witPath, worldName, sourceName: 'tool.js', disableFeatures: ['fetch-event'] });
await writeFile(output, component);
