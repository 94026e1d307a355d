import { expect, it } from 'vitest'
import { errorOf, finish, serviceOf, text } from '../../v1.test-helper.js'

const usage = { promptTokens: 7, completionTokens: 4, cachedTokens: 3, reasoningTokens: 2 }
const script = [text('Hi'), finish(), { type: 'usage', usage } as const]

/** The samples of a scrape by their names and labels. */
function samples(scrape: string): Map<string, number> {
  expect(scrape.endsWith('\n')).toBe(true)
  const lines = scrape.trimEnd().split('\n')
  const form =
    /^(?:# (?:HELP|TYPE) [a-z_0-9]+ .+|([a-z_0-9]+(?:\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})?) (\S+))$/
  return new Map(
    lines.flatMap((line) => {
      const found = form.exec(line)
      expect(found, line).not.toBe(null)
      return found![1] === undefined ? [] : [[found![1], Number(found![2])] as const]
    }),
  )
}

it('are there only if the service turns them on, and for clients with a key', async () => {
  expect(errorOf(await serviceOf('Hi').ask('/metrics'))).toMatchObject({ status: 404, code: 'unknown_url' })
  const { ask } = serviceOf('Hi', { metrics: true })
  expect(errorOf(await ask('/metrics', { headers: { authorization: 'Bearer wrong' } }))).toMatchObject({ status: 401 })
  expect((await ask('/metrics')).headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
})

it('count what was asked, what it cost and how long it took', async () => {
  const { ask, chat } = serviceOf(script, { metrics: true })
  await chat()
  await chat({ stream: true })
  await chat({ model: 'nobody/knows' })
  await ask('/models/no/"such\nmodel')
  await ask('/nowhere')
  const values = samples((await ask('/metrics')).text)
  const requests = (endpoint: string, status: number) =>
    values.get(`local_v1_requests_total{endpoint="${endpoint}",status="${status}"}`)
  expect(requests('/chat/completions', 200)).toBe(2)
  expect(requests('/chat/completions', 404)).toBe(1)
  expect(requests('/models/{model}', 404)).toBe(1)
  expect(requests('none', 404)).toBe(1)
  const tokens = ['prompt', 'cached', 'completion', 'reasoning'].map((kind) =>
    values.get(`local_v1_tokens_total{kind="${kind}"}`),
  )
  expect(tokens).toEqual([14, 6, 8, 4])
  expect(values.get('local_v1_first_token_seconds_count')).toBe(2)
  expect(values.get('local_v1_request_seconds_count')).toBe(5)
  expect(values.get('local_v1_request_seconds_bucket{le="+Inf"}')).toBe(5)
  expect([values.get('local_v1_running'), values.get('local_v1_waiting')]).toEqual([0, 0])
})

it('have no line more for anything that a client makes up', async () => {
  const { ask, chat } = serviceOf(script, { metrics: true })
  const round = async (name: string) => {
    const project = { headers: { 'openai-project': `team/${name}` } }
    await chat({}, project)
    await chat({ model: name, user: name }, project)
    for (const path of [`/${name}`, `/models/${name}`, `/models/team/${name}`, `/responses/${name}`]) await ask(path)
    await ask(`/models/team/${name}/load`, { method: 'POST' })
    await ask(`/chat/completions?x=${name}`, { method: 'PUT' })
    await ask('/chat/completions', { method: 'POST', headers: { authorization: `Bearer ${name}` } })
  }
  const lines = async () => [...samples((await ask('/metrics')).text).keys()]
  await round('first')
  const before = await lines()
  for (let i = 0; i < 50; i++) await round(`made-up-${i}`)
  // But for the scrape itself.
  expect((await lines()).filter((line) => !line.includes('endpoint="/metrics"'))).toEqual(before)
})

it('say how many grammars are kept, and what they take', async () => {
  const { ask, chat } = serviceOf('{}', { metrics: true })
  const grammars = async () => {
    const values = samples((await ask('/metrics')).text)
    return [values.get('local_v1_grammars'), values.get('local_v1_grammar_bytes')]
  }
  expect(await grammars()).toEqual([0, 0])
  for (let i = 0; i < 3; i++) await chat({ response_format: { type: 'json_object' } })
  const [count, bytes] = await grammars()
  expect(count).toBe(1)
  expect(bytes).toBeGreaterThan(0)
})

it('of buckets only grow, from one to the next', async () => {
  const { ask, chat } = serviceOf(script, { metrics: true })
  for (let i = 0; i < 5; i++) await chat()
  const buckets = [...samples((await ask('/metrics')).text)].filter(([name]) =>
    name.includes('first_token_seconds_bucket'),
  )
  const counts = buckets.map(([, count]) => count)
  expect(counts).toEqual([...counts].sort((a, b) => a - b))
  expect(counts.at(-1)).toBe(5)
})
