/**
 * Our readers of dates, times, numbers and durations beside libraries, over one table of written cases:
 *
 *   npm install --prefix FOLDER chrono-node any-date-parser compromise compromise-dates @microsoft/recognizers-text-suite
 *   npm run check:readers -- --peers FOLDER
 */
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { CASES, REFERENCE, type ReaderCase } from '../src/platform/readers/cases.test-helper.js'
import { readValue } from '../src/platform/readers/index.js'
import { type Peer, peersIn } from './readers/peers.js'

const { values } = parseArgs({ options: { peers: { type: 'string' }, show: { type: 'boolean' } } })
const KINDS = ['date', 'time', 'datetime', 'number', 'duration'] as const

const ours: Peer = {
  name: 'ours',
  source: `export * from './src/platform/readers/index.js'`,
  read: ({ kind, language, text }) => readValue({ type: kind }, text, { reference: REFERENCE, language }).value,
}

async function row({ name, read, source }: Peer, folder: string): Promise<string> {
  const cells = KINDS.map((kind) => {
    const cases = CASES.filter((one) => one.kind === kind)
    const answers = cases.map((one) => [one, safely(read, one)] as const).filter(([, answer]) => answer !== undefined)
    if (answers.length === 0) return '-'
    const clear = answers.filter(([{ value }]) => value !== null)
    const right = clear.filter(([{ value }, answer]) => value === answer)
    const open = answers.filter(([{ value }]) => value === null)
    const guessed = open.filter(([, answer]) => answer !== null)
    if (values.show) for (const [one, answer] of answers) if (one.value !== answer) console.log(name, one, answer)
    return `${right.length}/${clear.length}, guesses ${guessed.length}/${open.length}`
  })
  return `| ${name} | ${cells.join(' | ')} | ${await size(source, folder)} KB |`
}

function safely(read: Peer['read'], one: ReaderCase): ReturnType<Peer['read']> {
  try {
    return read(one, new Date(`${REFERENCE}T12:00:00`))
  } catch {
    return null
  }
}

async function size(contents: string, resolveDir: string): Promise<string> {
  const made = await build({
    stdin: { contents, resolveDir },
    ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', write: false, logLevel: 'silent' },
  })
  return (gzipSync(made.outputFiles[0]!.contents).length / 1000).toFixed(1)
}

const folder = values.peers
const peers = folder === undefined ? [] : peersIn(folder)
console.log(`| | ${KINDS.join(' | ')} | gzip |\n|---|${KINDS.map(() => '---|').join('')}---|`)
console.log(await row(ours, process.cwd()))
for (const peer of peers) console.log(await row(peer, folder!))
