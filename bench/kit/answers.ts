/** The whole service on this GPU, with weights that mean something: strict JSON by nano, judged by ajv. */
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { TASKS } from '../../src/bench/prompts.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { NO_TIME, tell } from './message.js'

const MODEL = 'local-v1/nano'

/** `until`, on the clock of `performance`: who has no answer by then is called off. */
export async function answers(requests: number, until: number): Promise<void> {
  const from = fileURLToPath(new URL('./nano', import.meta.url))
  const engine = webgpu({ models: [{ id: MODEL, from }], device: 'webgpu' })
  const v1 = createV1({ engine, keys: 'none' })
  const ajv = new Ajv({ strict: false })
  const signal = AbortSignal.timeout(Math.max(0, Math.ceil(until - performance.now())))
  try {
    await Promise.all(
      Array.from({ length: requests }, async (_, seed) => {
        const { text, schema } = TASKS[seed % TASKS.length]!
        const start = performance.now()
        const body = {
          model: MODEL,
          messages: [{ role: 'user', content: text }],
          seed,
          max_tokens: 400,
          response_format: { type: 'json_schema', json_schema: { name: 'document', strict: true, schema } },
        }
        const response = await v1.fetch(
          new Request('http://localhost/v1/chat/completions', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
            signal,
          }),
        )
        const answer = (await response.json()) as { choices?: { message: { content: string } }[] }
        const error = faultOf(answer.choices?.[0]?.message.content, (document) => ajv.validate(schema, document))
        tell({
          kind: 'tried',
          tried: {
            name: `answer ${seed} through /v1 satisfies its schema`,
            milliseconds: Math.round(performance.now() - start),
            ...(signal.aborted
              ? { state: 'skip', error: NO_TIME }
              : error === undefined
                ? { state: 'pass' }
                : { state: 'fail', error: `${error}: ${JSON.stringify(answer)}` }),
          },
        })
      }),
    )
  } finally {
    await v1.close()
  }
}

function faultOf(content: string | undefined, valid: (document: unknown) => unknown): string | undefined {
  if (content === undefined) return 'There is no answer'
  try {
    return valid(JSON.parse(content)) ? undefined : 'The schema does not hold'
  } catch {
    return 'This is no JSON'
  }
}
