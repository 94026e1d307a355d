import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { startDeno } from '../support/deno.js'
import { startNode } from '../support/node.js'
import type { Running } from '../support/spawn.js'

const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url))

const env = { PORT: '0', V1_KEY: 'sk-example' }
const onNode = (file: string) => async () =>
  startNode(file, { env: { ...env, TSX_TSCONFIG_PATH: path('examples/tsconfig.json') } })

const examples: [name: string, start: () => Promise<Running>, outside: string | undefined][] = [
  ['node-http', onNode('examples/node-http.ts'), undefined],
  ['express', onNode('examples/express.ts'), 'The rest of the application.'],
  ['hono', onNode('examples/hono.ts'), 'The rest of the application.'],
  [
    'deno',
    () => startDeno('examples/deno.ts', { env, permissions: ['--allow-net', '--allow-env'] }),
    'The rest of the application.',
  ],
]

describe('the examples', () => {
  const running: Running[] = []
  afterAll(() => Promise.all(running.map((process) => process.stop())))

  test.each(examples)('%s serves the official client', async (_, start, outside) => {
    const process = await start()
    running.push(process)
    const [, baseURL] = await process.line(/^listening on (\S+)$/)
    const client = new OpenAI({ baseURL, apiKey: 'sk-example' })
    const stream = await client.chat.completions.create({
      model: 'demo/parrot',
      messages: [{ role: 'user', content: 'Say this again, please.' }],
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('Say this again, please.')
    if (outside) expect(await (await fetch(new URL('/', baseURL))).text()).toBe(outside)
  })

  test('node-http ends when it is told to', async () => {
    const process = await onNode('examples/node-http.ts')()
    running.push(process)
    const [, baseURL] = await process.line(/^listening on (\S+)$/)
    const client = new OpenAI({ baseURL, apiKey: 'sk-example' })
    expect((await client.models.list()).data).toHaveLength(1)
    process.stop('SIGTERM')
    expect((await process.exit).code).toBe(0)
  })
})
