/**
 * What pointing at values costs and saves: documents a second of nano as it is and of its decoder alone, in turns within one
 * run, over texts that people wrote: strict JSON, fields and decisions, each through the service.
 *
 *     npm run bench:pointing -- [--limit N] [--rounds N] [--threads N]
 *
 * By the time that the process computed; `chrt -r 1` keeps others away.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readDecisions } from '../../scripts/decisions.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { createV1, type Engine, type V1 } from '../../src/index.js'
import { NANO, NANO_CONTEXT, openNano } from '../../test/nano/opened.js'

const { values } = parseArgs({
  options: {
    limit: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
  },
})
const MODEL = 'local-v1/nano'
const read = (name: string) => readFileSync(new URL(`eval/${name}`, NANO), 'utf8')
const limit = Number(values.limit)

interface Task {
  readonly path: string
  readonly bodies: readonly object[]
}

interface Case {
  readonly user: string
  readonly schema: {
    readonly properties: Readonly<Record<string, { readonly type?: unknown; readonly enum?: unknown }>>
  }
}

const TASKS: Readonly<Record<string, Task>> = {
  'strict JSON': { path: 'chat/completions', bodies: cases().map(documentOf) },
  fields: { path: 'extractions', bodies: cases().flatMap(fieldsOf) },
  decisions: { path: 'decisions', bodies: decisions() },
}

const device = await openCpuDevice({ threads: Number(values.threads) })
const services = { 'decoder alone': await open(false), 'with what points': await open(true) }
console.log(`${device.info.name}; documents a second`)
for (const [task, { path, bodies }] of Object.entries(TASKS)) {
  const seconds = Object.fromEntries(Object.keys(services).map((name) => [name, 0]))
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const body of bodies) {
      for (const [name, v1] of Object.entries(services)) {
        const before = process.cpuUsage()
        await ask(v1, path, body)
        const { user, system } = process.cpuUsage(before)
        // The first round compiles.
        if (round > 0) seconds[name]! += (user + system) / 1e6
      }
    }
  }
  const speeds = Object.entries(seconds).map(
    ([name, sum]) => [name, (bodies.length * Number(values.rounds)) / sum] as const,
  )
  const figures = speeds.map(([name, speed]) => `${name} ${speed.toFixed(2)}`).join(', ')
  console.log(`${task.padEnd(12)} ${figures}: ${(speeds[1]![1] / speeds[0]![1]).toFixed(2)} times`)
}
for (const v1 of Object.values(services)) await v1.close()
device.destroy()

async function open(points: boolean): Promise<V1> {
  const { loop } = await openNano(device, points ? (model) => model : undefined)
  const engine: Engine = {
    version: 2,
    models: [{ id: MODEL, ownedBy: 'bench', capabilities: loop.capabilities, contextLength: NANO_CONTEXT }],
    generate: (call) => loop.generate(call),
    decide: (call) => loop.decide(call),
    point: (call) => loop.point(call),
    close: () => loop.close(),
  }
  return createV1({ engine, keys: 'none' })
}

async function ask(v1: V1, path: string, body: object): Promise<void> {
  const request = new Request(`http://localhost/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
  const response = await v1.fetch(request)
  if (response.status !== 200) throw new Error(await response.text())
  await response.arrayBuffer()
}

function cases(): Case[] {
  const lines = read('apart.jsonl').trim().split('\n')
  return lines.slice(0, limit).map((line) => JSON.parse(line) as Case)
}

function documentOf({ user, schema }: Case) {
  return {
    messages: [{ role: 'user', content: user }],
    temperature: 0,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  }
}

/** Those of its values that are texts and numbers. */
function fieldsOf({ user, schema }: Case): object[] {
  const kinds = new Map<unknown, string>([
    ['string', 'text'],
    ['number', 'number'],
    ['integer', 'number'],
  ])
  const fields = Object.entries(schema.properties).flatMap(([name, { type, enum: options }]) => {
    const kind = options === undefined ? kinds.get(type) : undefined
    return kind === undefined ? [] : [[name, { type: kind }] as const]
  })
  return fields.length === 0 ? [] : [{ state: user, fields: Object.fromEntries(fields) }]
}

function decisions(): object[] {
  const cases = readDecisions(read('decisions.txt'))
  const texts = [...new Set(cases.map(({ text }) => text))].slice(0, limit)
  return texts.map((input) => ({
    input,
    questions: cases
      .filter(({ text }) => text === input)
      .map(({ kind, question: instructions, choices }) => {
        if (kind === 'predicate') return { type: 'predicate', instructions }
        return kind === 'choice'
          ? { type: 'choice', instructions, choices: choices.map((value) => ({ value })) }
          : { type: 'score', instructions, levels: choices.map((label) => ({ label })) }
      }),
  }))
}
