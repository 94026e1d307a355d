/** What nano's confidence is worth, on texts of people that it has never seen: `models/nano/eval/natural.jsonl`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { valueAt } from '../../adapters/client/pointer.js'
import { judgedValues } from '../../src/cli/calibrate/extracted.js'
import { type SureValue, spelledSureness, surenessOf } from '../../src/cli/calibrate/sureness.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'

const MODEL = 'local-v1/nano'
/** What the issue of grounded answers aims at. */
const AIMS = { auroc: 0.8, caught: 0.5 }

interface Case {
  readonly system: string
  readonly user: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly answer: Readonly<Record<string, unknown>>
}

interface Told {
  readonly choices?: readonly [
    {
      readonly message: { readonly content: string }
      readonly evidence?: Readonly<Record<string, { readonly confidence: number; readonly source?: object }>>
    },
  ]
  readonly error?: { readonly message: string }
}

export async function printNano(limit: number): Promise<void> {
  const folder = fileURLToPath(new URL('../../models/nano', import.meta.url))
  const cases = readFileSync(`${folder}/eval/natural.jsonl`, 'utf8')
    .split('\n')
    .filter(Boolean)
    .slice(0, limit)
    .map((line) => JSON.parse(line) as Case)
  const engine = webgpu({ models: [{ id: MODEL, from: folder }], device: 'cpu', worker: false, log: () => {} })
  const v1 = createV1({ engine, keys: 'none', log: () => {} })
  const values: (SureValue & { readonly kind: string; readonly grounded: boolean })[] = []
  for (const { system, user, schema, answer } of cases) {
    const body = {
      model: MODEL,
      messages: [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content: user }],
      temperature: 0,
      max_tokens: 400,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
      evidence: true,
    }
    const request = new Request(`http://localhost${v1.basePath}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { choices, error } = (await (await v1.fetch(request)).json()) as Told
    if (error) throw new Error(error.message)
    const [{ message, evidence = {} }] = choices!
    const document = JSON.parse(message.content) as Record<string, unknown>
    for (const [pointer, one] of Object.entries(evidence)) {
      const [judged] = judgedValues(document, answer, { [pointer]: one })
      const field = valueAt(document, `/${pointer.split('/')[1]}`)
      values.push({
        ...judged!,
        kind: Array.isArray(field) ? 'list' : typeof field,
        grounded: one.source !== undefined,
      })
    }
  }
  await v1.close()
  console.log(`nano, ${values.length} values of ${cases.length} natural texts`)
  const sureness = surenessOf(values)
  process.stdout.write(spelledSureness(sureness))
  console.log('\nof               values  right  AUROC  found by a fifth')
  const rows: (readonly [string, typeof values])[] = [...new Set(values.map(({ kind }) => kind))]
    .sort()
    .map((kind) => [kind, values.filter((value) => value.kind === kind)] as const)
  const sourced = (grounded: boolean) => values.filter((value) => value.grounded === grounded)
  for (const [name, own] of [...rows, ['with a source', sourced(true)], ['without one', sourced(false)]] as const) {
    if (own.length === 0) continue
    const { reliability, auroc, caught } = surenessOf(own)
    const shares = [
      `${(100 * reliability.accuracy).toFixed(1)} %`.padStart(7),
      auroc.toFixed(3).padStart(6),
      `${(100 * caught).toFixed(1)} %`.padStart(8),
    ]
    console.log(`${name.padEnd(16)} ${String(own.length).padStart(6)} ${shares.join(' ')}`)
  }
  const { auroc, caught } = sureness
  const met = (value: number, aim: number) => (value >= aim ? 'reached' : 'missed')
  console.log(
    `\ntargets: AUROC ${AIMS.auroc} ${met(auroc, AIMS.auroc)}, half of the errors ${met(caught, AIMS.caught)}`,
  )
}
