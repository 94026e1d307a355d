import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { eventsOf } from '../../src/service/v1.test-helper.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { closed } from '../support/closed.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'
import type { StrictPage } from './strict.js'

const strictly = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'it', strict: true, schema } },
})
const city = closed({ city: { type: 'string', maxLength: 12 } })
const ages = closed({ ages: { type: 'array', items: { type: 'integer', minimum: 1 }, maxItems: 3 } })
const tagged = closed({ tag: { enum: ['a', 'b'] }, note: { type: ['string', 'null'], maxLength: 8 } })

const OWN = 'script-src eval'

describe.skipIf(!canUnpack)('under a strict Content-Security-Policy (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let script: string
  const servers: Listening[] = []

  beforeAll(async () => {
    script = await bundle('test/browser/strict.ts')
    browser = await sharedChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all(servers.map((server) => server.close()))
  })

  /** A page under the policy, which is seen to hold. */
  async function pageUnder(policy: string): Promise<Page> {
    const repository = [...tinyRepository().files].map(([name, bytes]) => [`/tiny/${name}`, bytes] as const)
    const html =
      '<!doctype html><meta charset="utf-8"><title>strict</title><script type="module" src="/it.js"></script>'
    const files = { '/index.html': html, '/it.js': script, ...Object.fromEntries(repository) }
    const server = await serveFiles(files, '', { 'content-security-policy': policy })
    servers.push(server)
    const page = await browser.newPage()
    await page.goto(server.origin)
    expect(await page.evaluate(() => (window as unknown as { strict: StrictPage }).strict.evals)).toBe(false)
    return page
  }

  const chat = (page: Page, content: string, body: object) =>
    page.evaluate((body) => (window as unknown as { strict: StrictPage }).strict.chat(body), {
      model: 'test/echo',
      messages: [{ role: 'user', content }],
      ...body,
    })
  const contentOf = ({ text }: { text: string }): string => JSON.parse(text).choices[0].message.content
  const violations = (page: Page) =>
    page.evaluate(() => (window as unknown as { strict: StrictPage }).strict.violations)

  test('a conversation needs nothing that it forbids', async () => {
    const page = await pageUnder("default-src 'self'; script-src 'self'")
    expect(contentOf(await chat(page, 'Hello there.', {}))).toBe('Hello there.')
    const stream = await chat(page, 'Hello there.', { stream: true })
    expect(eventsOf(stream.text).at(-1)).toBe('[DONE]')
    expect(await violations(page)).toEqual([OWN])
  })

  test('the grammar alone checks strict JSON, whole and streamed, just as strictly', async () => {
    const page = await pageUnder("default-src 'self'; script-src 'self'")
    const right: [string, object][] = [
      ['{"city":"Bern"}', city],
      ['{ "city": "B\\u00e9rn" }', city],
      ['{"ages":[1,20]}', ages],
      ['{"note":null,"tag":"b"}', tagged],
    ]
    const wrong: [string, object][] = [
      ['{"city":', city],
      ['{"city":5}', city],
      ['{"city":"a name that is too long"}', city],
      ['{"city":"Bern","x":1}', city],
      ['{"ages":[0]}', ages],
      ['{"ages":[1,2,3,4]}', ages],
      ['{"tag":"c","note":null}', tagged],
      ['Here: {"tag":"a","note":null}', tagged],
    ]
    for (const [content, schema] of right) {
      const answer = await chat(page, content, strictly(schema))
      expect([content, answer.status]).toEqual([content, 200])
      expect(contentOf(answer)).toBe(content)
    }
    for (const [content, schema] of wrong) {
      const { status, text } = await chat(page, content, strictly(schema))
      expect([content, status, JSON.parse(text).error.code]).toEqual([content, 500, 'invalid_output'])
      const stream = eventsOf((await chat(page, content, { ...strictly(schema), stream: true })).text)
      expect(JSON.parse(stream.at(-1)!).error.code).toBe('invalid_output')
      expect(stream.join()).not.toContain('"finish_reason":"stop"')
    }
    expect(await violations(page)).toEqual([OWN])
  })

  test('a model on the CPU streams strict JSON, if WebAssembly is allowed', async () => {
    const page = await pageUnder("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'")
    for (const [seed, schema] of [city, ages, tagged].entries()) {
      const body = { model: 'test/tiny', stream: true, seed, max_tokens: 40, ...strictly(schema) }
      const { status, text } = await chat(page, 'Hello', body)
      expect(status).toBe(200)
      const events = eventsOf(text)
      expect(events.pop()).toBe('[DONE]')
      const chunks = events.map((event) => JSON.parse(event))
      const answerText = chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')
      expect(Object.keys(JSON.parse(answerText))).toEqual(schema.required)
      expect(chunks.at(-1).choices[0].finish_reason).toBe('stop')
      // From the first stream on, each names what answered.
      for (const chunk of chunks) expect(chunk.system_fingerprint).toMatch(/^fp_/)
    }
    expect(await violations(page)).toEqual([OWN])
  })

  test('a model on the CPU says what it needs, if WebAssembly is forbidden', async () => {
    const page = await pageUnder("default-src 'self'; script-src 'self'")
    const { status, text } = await chat(page, 'Hello', { model: 'test/tiny', max_tokens: 5 })
    const { error } = JSON.parse(text)
    expect([status, error.code]).toEqual([503, 'no_device'])
    expect(error.message).toContain("'wasm-unsafe-eval'")
  })
})
