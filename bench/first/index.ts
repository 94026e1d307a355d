/**
 * How long the built command line takes from its start to the first answer of nano about one sentence: `extract`, and
 * `serve` with a request that is sent as soon as it listens. By turns with other builds, in folders as `dist` is.
 *
 *     npm run build && npm run bench:first -- [FOLDER...] [--rounds N] [--device auto] [--node FILE]
 *
 * As root, `chrt -r 1` keeps others away.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from '../../src/bench/stats.js'
import { freePort } from '../../test/support/port.js'

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    device: { type: 'string', default: 'cpu' },
    node: { type: 'string', default: process.execPath },
  },
  allowPositionals: true,
})
const TEXT = 'Please send us 12 desk lamps by Friday.'
const SCHEMA = {
  type: 'object',
  properties: { product: { type: 'string' }, quantity: { type: 'integer' } },
  required: ['product', 'quantity'],
  additionalProperties: false,
}
const folder = await mkdtemp(join(tmpdir(), 'local-v1-first-'))
const [schema, text] = [join(folder, 'schema.json'), join(folder, 'text.txt')]
await writeFile(schema, JSON.stringify(SCHEMA))
await writeFile(text, TEXT)
const builds = [fileURLToPath(new URL('../../dist', import.meta.url)), ...positionals.map((each) => resolve(each))]

const begun = (build: string, args: readonly string[]) =>
  spawn(values.node, [join(build, 'cli.js'), ...args, '--device', values.device], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })

/** Milliseconds until it writes the answer. */
async function extracts(build: string): Promise<number> {
  const start = performance.now()
  const child = begun(build, ['extract', schema, text])
  await once(child.stdout, 'data')
  const took = performance.now() - start
  await once(child, 'close')
  return took
}

/** Milliseconds until it has answered who asks as soon as it can be asked. */
async function serves(build: string): Promise<number> {
  const port = await freePort()
  const start = performance.now()
  const child = begun(build, ['serve', '--port', String(port), '--no-playground'])
  const body = JSON.stringify({
    model: 'local-v1/nano',
    messages: [{ role: 'user', content: TEXT }],
    response_format: { type: 'json_schema', json_schema: { name: 'order', strict: true, schema: SCHEMA } },
  })
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
  let response: Response | undefined
  while (!response) response = await ask().catch(() => new Promise<undefined>((again) => setTimeout(again, 5)))
  await response.arrayBuffer()
  const took = performance.now() - start
  if (response.status !== 200) throw new Error(`It was answered with ${response.status}.`)
  child.kill('SIGKILL')
  await once(child, 'close')
  return took
}

for (const [name, run] of Object.entries({ extract: extracts, serve: serves })) {
  const times = builds.map((): number[] => [])
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [i, build] of builds.entries()) {
      const took = await run(build)
      // In the first round files come from the disk.
      if (round > 0) times[i]!.push(took)
    }
  }
  for (const [i, build] of builds.entries()) {
    const [least, middle] = [Math.min(...times[i]!), median(times[i]!)]
    console.log(`${name.padEnd(8)} least ${least.toFixed(0)} ms, middle ${middle.toFixed(0)} ms  ${build}`)
  }
}
await rm(folder, { recursive: true })
