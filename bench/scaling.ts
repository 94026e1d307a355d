/**
 * The cost model of SCALING.md, fitted to measured points: `npx tsx bench/scaling.ts [REPORT.json...]` prints its figures,
 * from reports of `npm run bench -- --json`, else from those in `scaling/points`. `--write` puts them into SCALING.md.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { BenchReport } from '../src/bench/report.js'
import { scalingFigures } from './scaling/print.js'
import { withFigures } from './scaling/write.js'

const { values, positionals } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true })
const folder = fileURLToPath(new URL('scaling/points/', import.meta.url))
const files =
  positionals.length > 0
    ? positionals
    : readdirSync(folder)
        .sort()
        .map((name) => folder + name)
const figures = scalingFigures(files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as BenchReport))
if (values.write) {
  const file = new URL('SCALING.md', import.meta.url)
  writeFileSync(file, withFigures(readFileSync(file, 'utf8'), figures))
} else console.log(figures)
