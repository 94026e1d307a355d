/**
 * `tsx scripts/size/way.ts`: through how many files and functions of `src` a request goes, from the Fetch `Request` to the
 * last byte of the answer, on the built-in model and a processor, by V8's own counts. What only the first request needs
 * (opening the model, compiling the schema) is left out: of each kind two are answered before. The built-in model points
 * at values, as few models do: `strict` and `plain` are the ways of all others, of the same weights without what points.
 */
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'

export interface Way {
  readonly files: number
  readonly functions: number
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SRC = pathToFileURL(`${ROOT}src/`).href

/** What the compiler that runs scripts puts into files to keep names of closures: nobody wrote it, and no build has it. */
const NAMING = '__name'

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
}
/** How many requests are looked at. */
const ASKED = 4
const STRICT = { response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } } }

const NANO = `${ROOT}models/nano`
const ordinary = await mkdtemp(join(tmpdir(), 'local-v1-way-'))
for (const file of await readdir(NANO)) await copyWithoutPointing(file)

const models = [
  { id: 'test/ordinary', from: ordinary },
  { id: 'test/pointing', from: NANO },
]
const v1 = createV1({ engine: webgpu({ models, device: 'cpu', worker: false, log: () => {} }), keys: 'none' })

/** Without what it points by: a part of its configuration, and tensors in its lists. */
async function copyWithoutPointing(file: string): Promise<void> {
  if (!/-(cache|config)\.json$/.test(file)) return symlink(join(NANO, file), join(ordinary, file))
  const text = await readFile(join(NANO, file), 'utf8')
  const { pointing: _, ...rest } = JSON.parse(text, (_, value) =>
    Array.isArray(value) ? value.filter((item) => !item.name?.startsWith('pointing.')) : value,
  )
  await writeFile(join(ordinary, file), JSON.stringify(rest))
}

async function ask(more: object): Promise<void> {
  const messages = [{ role: 'user', content: 'Ada Lovelace, 36, from London' }]
  const body = JSON.stringify({ model: 'test/ordinary', max_tokens: 32, messages, ...more })
  const headers = { 'content-type': 'application/json' }
  const url = 'http://127.0.0.1/v1/chat/completions'
  const response = await v1.fetch(new Request(url, { method: 'POST', headers, body }))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
}

/** What every one of some requests goes through: what waits, or is tried, by the clock is on the way of some of them only. */
async function wayOf(session: Session, more: object): Promise<Way> {
  await ask(more)
  await ask(more)
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  let way = [...(await wayOfOne(session, more))]
  for (let i = 1; i < ASKED; i++) {
    const other = await wayOfOne(session, more)
    way = way.filter((place) => other.has(place))
  }
  await session.post('Profiler.stopPreciseCoverage')
  return { files: new Set(way.map((place) => place.split(' ')[0])).size, functions: way.length }
}

/** The places of the functions that ran: a file, and where it begins in it. */
async function wayOfOne(session: Session, more: object): Promise<Set<string>> {
  await ask(more)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ran = result
    .filter(({ url }) => url.startsWith(SRC))
    .flatMap(({ url, functions }) =>
      functions
        .filter((one) => one.functionName !== NAMING && one.ranges[0]!.count > 0)
        .map((one) => `${url} ${one.ranges[0]!.startOffset}`),
    )
  return new Set(ran)
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
// The longest first: what V8 has compiled away by then is not counted any more.
const pointing = await wayOf(session, { model: 'test/pointing', ...STRICT })
const strict = await wayOf(session, STRICT)
console.log(JSON.stringify({ strict, plain: await wayOf(session, {}), pointing }))
await v1.close()
await rm(ordinary, { recursive: true })
process.exit(0)
