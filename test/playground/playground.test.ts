import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildPlayground } from '../../apps/playground/build/build.js'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { unpacked } from '../../apps/playground/page/share.js'
import { compile } from '../../src/grammar/structured.js'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'
import { sharedChromium } from '../support/chromium.js'
import { FULL } from '../support/full.js'
import { startNode } from '../support/node.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn, sidewaysIn, smallTargets } from './audit.js'
import { holdStreams, letThrough } from './held-stream.js'
import { type SlowHub, slowHub } from './hub.js'
import { picture } from './picture.js'

const out = fileURLToPath(new URL('../../test-output/playground/', import.meta.url))
const SMALL = 'mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC'

/** In the page: what stands in the origin's own file system. */
async function keptNames(): Promise<string[]> {
  const root = await navigator.storage.getDirectory()
  const folder = await root.getDirectoryHandle('local-v1-models')
  const names: string[] = []
  for await (const name of (folder as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(name)
  return names
}

describe.skipIf(!canUnpack)('the playground (npm has Chromium for Linux on x64)', () => {
  let hub: SlowHub
  let server: Server
  let browser: Browser
  let context: BrowserContext
  let page: Page
  const faults: string[] = []

  beforeAll(async () => {
    hub = await slowHub()
    const folder = await buildPlayground({ out: `${out}site`, hub: hub.origin })
    const served = await servePlayground(folder, { hub: hub.origin })
    server = served.server
    browser = await sharedChromium()
    context = await browser.newContext({
      viewport: { width: 1360, height: 900 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    page = await context.newPage()
    // Machines that run tests are busy.
    page.setDefaultTimeout(15_000)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await holdStreams(page)
    await page.goto(served.url)
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    await hub?.close()
  })

  const look = (name: string) => picture(page, name)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const tabs = async () => {
    const names = (await page.getByRole('tab').allTextContents()).map((name) => name.trim())
    expect(names.length).toBeGreaterThan(1)
    return names
  }
  const schema = () => page.getByRole('textbox', { name: 'Schema' })
  const ready = () => page.locator('.model.selected .state.ready').waitFor()
  const answered = () => page.locator('#answer[aria-busy="false"]').waitFor()
  const chosen = (id: string) => page.locator(`input[value="${id}"]`)
  const fits = () => page.locator('#add-model-found .verdict', { hasText: /^Fits/ }).waitFor()
  const copied = () => page.evaluate(() => navigator.clipboard.readText())

  test('starts, has the embedded model ready, and explains a device without WebGPU', async () => {
    await page.locator('body.ready').waitFor()
    await ready()
    expect(await chosen('local-v1/nano').isChecked()).toBe(true)
    expect(await page.locator('#device').textContent()).toMatch(/WebGPU.*processor instead/)
    expect(await page.locator('#device-chip').textContent()).toBe('CPU')
    expect(await page.locator('#what').textContent()).toMatch(/on this device.*nothing you write leaves it\.$/)
    // Who decided each token is what one sees first.
    expect(await page.getByRole('radio', { name: 'Tokens' }).isChecked()).toBe(true)
    // So it is answered before anybody has pressed anything.
    await page.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor()
    expect(await page.locator('.tokens .sampled').count()).toBeGreaterThan(0)
    await look('1-first-sight')
  })

  test('says before a download which models would be slow here', async () => {
    const state = (name: string) => page.locator('.model', { hasText: name }).locator('.state').textContent()
    expect(await state('Llama 3.2 1B')).toBe('Slow here')
    expect(await state('SmolLM2 135M')).toBe('Fits')
    // The first few are enough to begin with.
    expect(await chosen('mlc-ai/Phi-4-mini-instruct-q4f16_1-MLC').isVisible()).toBe(false)
    await page.getByRole('button', { name: /^All \d+ models$/ }).click()
    expect(await state('Phi-4-mini')).toBe('Slow here')
    await page.reload()
    await page.locator('body.ready').waitFor()
    await ready()
    // An example that nobody has changed is answered at once, at every visit.
    await page.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor()
  })

  test('tells how fast a model of the list would be, and downloads nothing of it', async () => {
    await chosen('mlc-ai/Qwen3-0.6B-q4f16_1-MLC').check()
    await page.getByRole('button', { name: 'Estimate speed: Qwen3 0.6B' }).click()
    await fits()
    const found = page.locator('#add-model-found')
    expect(await found.textContent()).toMatch(/to download.*of memory.*tokens a second/)
    expect(await found.getByRole('button').allTextContents()).toEqual(['Close'])
    expect(await page.locator('.model.selected .state').textContent()).toBe('Slow here')
    await found.getByRole('button').click()
    await chosen('local-v1/nano').check()
  })

  test('fills a schema while the answer comes', async () => {
    await page.getByText('Fields', { exact: true }).click()
    await button('Meeting').click()
    await letThrough(page, 14)
    await schema().press('Control+Enter')
    // The document so far: some fields are there, others still wait.
    await page.locator('#answer .field.done').first().waitFor()
    expect(await page.locator('#answer .field.waiting').count()).toBeGreaterThan(0)
    expect(await button('Stop').isVisible()).toBe(true)
    await look('2-streaming')
    // What has come stands: nothing is drawn anew for what follows it.
    const first = await page.locator('#answer .field.done').first().elementHandle()
    await letThrough(page)
    await answered()
    expect(await first!.evaluate((field) => field.isConnected)).toBe(true)
    expect(await page.locator('#answer .field:not(.done)').count()).toBe(0)
    await button('Copy JSON').click()
    expect(compile(JSON.parse(await schema().inputValue())).accepts(await copied())).toBe(true)
    await look('3-answer')
  })

  test('shows what the grammar decided and what the model chose', async () => {
    await page.getByText('Tokens', { exact: true }).first().click()
    const forced = (await page.locator('.tokens .forced').allTextContents()).join('')
    for (const key of ['topic', 'attendees']) expect(forced).toContain(`"${key}"`)
    expect(await page.locator('.tokens .sampled').count()).toBeGreaterThan(0)
    const shown = await page.locator('.tokens').textContent()
    expect(JSON.parse(shown!)).toEqual(JSON.parse(await copied()))
    const [tokens] = (await page.locator('.numbers').textContent())!.match(/(?<=Tokens)\d+/)!
    const shares = (await page.locator('.shares').textContent())!.match(/\d+(?= (decided|chosen))/g)!
    expect(Number(shares[0]) + Number(shares[1])).toBe(Number(tokens))
    await look('4-tokens')
    expect(await barriers(page)).toEqual([])
  })

  test('marks what /v1 refuses at its field', async () => {
    const text = await schema().inputValue()
    const broken = text.replace('"type": "integer"', '"type": "integer", "divisibleBy": 5')
    await schema().fill(broken)
    await button('Generate').click()
    const error = page.locator('#schema-error')
    await error.waitFor()
    const line = broken.split('\n').findIndex((each) => each.includes('divisibleBy')) + 1
    expect(await error.textContent()).toMatch(new RegExp(`^Line ${line}: .*divisibleBy`))
    expect(await error.textContent()).not.toContain('strict')
    expect(await schema().getAttribute('aria-invalid')).toBe('true')
    await look('5-error')
    expect(await barriers(page)).toEqual([])
    await schema().fill(text.slice(0, -1))
    expect(await error.textContent()).toContain('not JSON')
    await schema().fill(text)
    expect(await error.isVisible()).toBe(false)

    const places = () =>
      page.locator('.setting > input, .rail > *').evaluateAll((all) =>
        all.map((each) => {
          const { x, y, width, height } = each.getBoundingClientRect()
          return [x, y + scrollY, width, height].join()
        }),
      )
    const before = await places()
    await page.getByLabel('Temperature').fill('hot')
    await button('Generate').click()
    expect(await page.locator('#temperature-error').textContent()).toMatch(/'temperature'/)
    expect(await places()).toEqual(before)
    await look('5-setting-error')
    expect(await cutIn(page)).toEqual([])
    await page.getByLabel('Temperature').fill('0')

    await page.getByLabel('Max tokens').fill('3')
    await button('Generate').click()
    const tokensError = page.locator('#max-tokens-error')
    const [least] = /\d+(?= tokens\b)/.exec((await tokensError.textContent())!)!
    // Closed at the limit it is whole, and says that it ended there.
    await page.getByLabel('Max tokens').fill(least)
    expect(await tokensError.count()).toBe(0)
    await button('Generate').click()
    const note = page.locator('#answer-note')
    await expect.poll(() => note.textContent()).toBe(`The answer ended within the limit of ${least} tokens.`)
    // Another text marks it, and a line that is long is not wrapped, which would take seconds.
    const field = page.getByLabel('Text', { exact: true })
    const said = await field.inputValue()
    await field.fill('kettle '.repeat(3000))
    await expect.poll(() => note.textContent()).toMatch(/ This answer is of an earlier text\.$/)
    await look('5-earlier-text')
    expect(await barriers(page)).toEqual([])
    expect(await field.getAttribute('wrap')).toBe('off')
    await field.fill(said)
    expect(await field.getAttribute('wrap')).toBe('soft')
    await expect.poll(() => note.textContent()).not.toContain('earlier')
    await field.fill('kettle '.repeat(3000))
    await button('Generate').click()
    const tooLong = page.locator('#answer [role="alert"]')
    await tooLong.getByText(/^What was sent is too long for this model, in all .* tokens of 4,096\.$/).waitFor()
    await field.fill(said)

    // A schema is read too: where it is what does not fit, nobody is told to shorten the text.
    const names = Array.from({ length: 200 }, (_, i) => `field_number_${i}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    await page.getByLabel('Max tokens').fill('')
    await schema().fill(JSON.stringify({ type: 'object', properties, required: names, additionalProperties: false }))
    await button('Generate').click()
    await error.waitFor()
    expect(await error.textContent()).toMatch(/the schema is too long .* tokens of /)
    expect(await page.locator('#answer [role="alert"]').count()).toBe(0)
    await look('5-long-schema')
    await schema().fill(text)
    await page.getByLabel('Max tokens').fill('400')
  })

  test('downloads a model, says how far it is, and can stop', async () => {
    await chosen(SMALL).check()
    await page.getByRole('button', { name: /^Download .*SmolLM2 135M/ }).click()
    const facts = page.locator('.progress-facts')
    await expect.poll(() => facts.textContent()).toMatch(/^\d+ KB of \d+ KB · \d+ KB\/s · \d+ s left$/)
    await look('6-loading')
    // News must not take the button from under the finger.
    const stop = (await page.getByRole('button', { name: 'Stop: SmolLM2 135M' }).elementHandle())!
    const before = await facts.textContent()
    await expect.poll(() => facts.textContent()).not.toBe(before)
    await stop.click()
    await page.getByRole('button', { name: /^Download .*SmolLM2 135M/ }).waitFor()
    expect(await page.locator('.model-error').count()).toBe(0)
    await page.getByRole('button', { name: /^Download .*SmolLM2 135M/ }).click()
    await expect.poll(() => facts.textContent()).toMatch(/left$/)
    // Browsers end service workers as they like: the load goes on, and the page goes on hearing of it.
    const devtools = await context.newCDPSession(page)
    await devtools.send('ServiceWorker.enable')
    await devtools.send('ServiceWorker.stopAllWorkers')
    await devtools.detach()
    hub.release()
    await ready()
    expect(await page.locator('.model-error').count()).toBe(0)
  })

  test('chats, streams and stops', async () => {
    await page.getByRole('tab', { name: 'Structured' }).press('ArrowRight')
    await page.getByRole('tab', { name: 'Table' }).press('ArrowRight')
    await page.getByRole('tab', { name: 'Decisions' }).press('ArrowRight')
    await chosen('local-v1/nano').check()
    expect(await page.locator('#chat-hint').isVisible()).toBe(true)
    // The warning has the button that it speaks of.
    await page.locator('#chat-larger').click()
    await expect.poll(() => chosen(SMALL).isChecked()).toBe(true)
    expect(await page.locator('#chat-hint').isVisible()).toBe(false)
    await chosen('local-v1/nano').check()
    await page.getByLabel('Message').fill('Who are you?')
    await page.getByLabel('Message').press('Enter')
    await page.locator('.metrics-line').waitFor()
    await look('7-chat')
    await button('New').click()

    await chosen(SMALL).check()
    await letThrough(page, 12)
    await page.getByLabel('Temperature').fill('1')
    await page.getByLabel('Seed').fill('2')
    await page.getByLabel('Message').fill('Tell me a story.')
    await page.getByLabel('Message').press('Enter')
    const answer = page.locator('.message.assistant .said')
    await expect.poll(() => answer.textContent()).toMatch(/\S/)
    await button('Stop').click()
    await button('Stop').click()
    await letThrough(page)
    await page.locator('.metrics-line').waitFor()
    expect(await page.locator('.metrics-line').textContent()).toMatch(/\d+ tokens.* stopped$/)
    await page.getByLabel('Message').fill('And another.')
    await page.getByLabel('Max tokens').fill('20')
    await button('Send').click()
    await expect.poll(() => page.locator('.metrics-line').count()).toBe(2)
    expect(await page.locator('.message').count()).toBe(4)
    const [saved] = await Promise.all([page.waitForEvent('download'), button('Save').click()])
    const kept = await readFile(await saved.path(), 'utf8')
    expect(kept).toMatch(/^## User\n\nTell me a story\.\n\n## Assistant\n/)
    await page.getByLabel('Max tokens').fill('400')
    await page.getByLabel('Temperature').fill('0')
    await page.getByLabel('Seed').fill('')
  })

  test('copies the request as code', async () => {
    await page.locator('#chat-code').click()
    expect(await page.locator('#code').textContent()).toContain(`baseURL: '${new URL(page.url()).origin}/v1'`)
    await page.getByText('curl', { exact: true }).click()
    await look('8-code')
    expect(await barriers(page)).toEqual([])
    await page.locator('#code-copy').click()
    expect(await copied()).toMatch(/^# .*\n.*\ncurl http/)
    await page.keyboard.press('Escape')
  })

  test('counts usage by project', async () => {
    await button('Usage').click()
    const rows = page.locator('#usage tbody tr')
    await rows.first().waitFor()
    const shown = await rows.evaluateAll((all) =>
      all.map(({ children }) => [...children].map((cell) => cell.textContent)),
    )
    expect(shown.map(([project, model]) => `${project}: ${model}`).sort()).toEqual([
      'demo/playground: SmolLM2 135M',
      'demo/playground: nano',
    ])
    await look('9-usage')
    expect(await barriers(page)).toEqual([])
    // On a phone all columns are there without scrolling; where they are not, keys scroll them.
    await page.setViewportSize({ width: 360, height: 740 })
    await look('27-usage-phone')
    expect(await page.locator('#usage').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    expect(await barriers(page)).toEqual([])
    await page.setViewportSize({ width: 1360, height: 900 })
    await page.locator('#usage-dialog').getByRole('button', { name: 'Close' }).click()
  })

  test('keeps edits and the conversation over a reload', async () => {
    await page.getByRole('tab', { name: 'Structured' }).click()
    await page.getByLabel('Text', { exact: true }).fill('An edit of mine.')
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.getByLabel('Message').fill('Not sent yet.')
    await page.reload()
    await page.locator('body.ready').waitFor()
    expect(await page.locator('.message').count()).toBe(4)
    expect(await page.getByLabel('Message').inputValue()).toBe('Not sent yet.')
    await page.getByLabel('Message').fill('')
    await page.getByRole('tab', { name: 'Structured' }).click()
    expect(await page.getByLabel('Text', { exact: true }).inputValue()).toBe('An edit of mine.')
  })

  test('puts edits aside for an example, and brings them back', async () => {
    const text = page.getByLabel('Text', { exact: true })
    await button('Invoice').click()
    expect(await text.inputValue()).toMatch(/^Invoice/)
    await button('Ticket').click()
    await look('15-aside')
    await button('Restore').click()
    expect(await text.inputValue()).toBe('An edit of mine.')
    expect(await page.locator('#put-aside').isVisible()).toBe(false)
    await button('Meeting').click()
  })

  test('makes a schema from an example, and by a form', async () => {
    await page.getByText('From an example', { exact: true }).click()
    const document = page.getByLabel('Example document')
    await document.fill('{ "name": ')
    await button('Create schema').click()
    expect(await page.locator('.example-form .field-error').textContent()).toContain('not JSON')
    await document.fill('{ "name": "Ada", "born": "1815-12-10", "children": [{ "name": "Byron", "age": 3 }] }')
    await look('16-example')
    expect(await barriers(page)).toEqual([])
    await button('Create schema').click()
    const made = compile(JSON.parse(await schema().inputValue()))
    expect(made.accepts('{"name":"Lea","born":"2001-02-03","children":[]}')).toBe(true)
    expect(made.accepts('{"name":"Lea","born":"today","children":[]}')).toBe(false)

    // What the document holds within is a group of the form.
    await page.getByText('Form', { exact: true }).click()
    expect(await page.getByLabel('Kind of field 3', { exact: true }).inputValue()).toBe('groups')
    await page.getByLabel('Name of field 3.2').fill('years')
    await button('Add a field to group 3').click()
    await page.getByLabel('Name of field 3.3').fill('pet')
    await page.getByLabel('Optional of field 3.3').check()
    await look('17-form-nested')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
    await page.getByText('JSON', { exact: true }).click()
    const grouped = compile(JSON.parse(await schema().inputValue()))
    expect(grouped.accepts('{"name":"Lea","born":"2001-02-03","children":[{"name":"Ida","years":3}]}')).toBe(true)
    expect(grouped.accepts('{"name":"Lea","born":"2001-02-03","children":[{"name":"Ida"}]}')).toBe(false)

    await schema().fill('{ "type": "object", "minProperties": 1 }')
    await page.getByText('Form', { exact: true }).click()
    expect(await page.locator('#schema-place .notice').textContent()).toContain('too complex for the form')
    await button('Start a new schema').click()
    await page.getByLabel('Name of field 1').fill('topic')
    await button('Add a field').click()
    await page.getByLabel('Name of field 2').fill('urgency')
    await page.getByLabel('Kind of field 2').selectOption('choice')
    await page.getByLabel('Choices of field 2').fill('low, high')
    await look('17-form')
    expect(await barriers(page)).toEqual([])
    await page.getByText('JSON', { exact: true }).click()
    const formed = compile(JSON.parse(await schema().inputValue()))
    expect([
      formed.accepts('{"topic":"x","urgency":"high"}'),
      formed.accepts('{"topic":"x","urgency":"none"}'),
    ]).toEqual([true, false])
    await button('Meeting').click()
  })

  test('shares schema, text and settings in the fragment, and nothing else', async () => {
    await chosen('local-v1/nano').check()
    await page.getByLabel('Text', { exact: true }).fill('A text to share.')
    await button('Share').click()
    await expect.poll(copied).toMatch(/#share=/)
    const link = await copied()
    const requests: string[] = []
    const other = await context.newPage()
    other.on('request', (request) => requests.push(request.url()))
    await other.evaluate(() => {})
    await other.goto(link)
    await other.locator('body.ready').waitFor()
    expect(await other.getByLabel('Text', { exact: true }).inputValue()).toBe('A text to share.')
    // Whoever opens it sees at once what was meant: it is answered before anybody has pressed anything.
    await other.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor()
    expect(new URL(other.url()).hash).toBe('')
    const packed = new URL(link).hash.slice('#share='.length)
    expect(requests.filter((url) => url.includes(packed.slice(0, 20)) && !url.includes('#'))).toEqual([])
    const held = (await unpacked(decodeURIComponent(packed))) as object
    expect(Object.keys(held).sort()).toEqual(['draft', 'settings'])
    await other.close()
    await button('Meeting').click()
  })

  test('tries any request of /v1, and says what to do about one that fails', async () => {
    await page.getByRole('tab', { name: 'Requests' }).click()
    await chosen('local-v1/nano').check()
    const answer = page.locator('#request-answer')
    await button('Responses').click()
    expect(await answer.textContent()).toMatch(/^Send this/)
    await button('Send').click()
    await expect.poll(() => answer.textContent()).toMatch(/event: response\.(completed|incomplete)/)
    await look('18-requests')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
    const delta = answer.locator('summary', { hasText: 'response.output_text.delta' }).first()
    const gist = (await delta.locator('span').textContent())!
    await delta.click()
    expect(await answer.locator('details[open] .code').textContent()).toContain(`"delta": ${gist}`)
    await answer.locator('summary', { hasText: 'response.completed' }).click()
    await look('26-events')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
    expect(await answer.locator('[data-way="raw"]').isVisible()).toBe(false)
    await page.getByText('Raw', { exact: true }).click()
    expect(await answer.locator('pre:visible').textContent()).toMatch(/^event: response\.created\ndata: \{/)
    await page.getByText('Events', { exact: true }).click()
    await button('Tools').click()
    await button('Send').click()
    await expect.poll(() => answer.textContent()).toMatch(/"name": "get_weather"/)
    // What the chosen model cannot do is not offered; whoever asks for it all the same is told what to do.
    expect(await page.locator('#request-samples').getByRole('button').allTextContents()).not.toContain('Embeddings')
    expect(await page.locator('#request-samples').getByRole('button', { name: 'Embeddings' }).isVisible()).toBe(false)
    await page.getByLabel('POST to /v1').fill('/embeddings')
    await page.getByLabel('Body').fill('{ "model": "local-v1/nano", "input": "a kettle" }')
    await button('Send').click()
    await answer.getByRole('button').waitFor()
    expect(await answer.getByRole('alert').count()).toBe(1)
    expect(await answer.getByRole('button').textContent()).toBe('Choose another model')
    // To think is a hint, which a model that does not think answers without.
    await page.getByLabel('POST to /v1').fill('/chat/completions')
    const thinking = { chat_template_kwargs: { enable_thinking: true }, max_tokens: 20, temperature: 0 }
    const messages = [{ role: 'user', content: 'Hello!' }]
    await page.getByLabel('Body').fill(JSON.stringify({ model: 'local-v1/nano', messages, ...thinking }))
    await button('Send').click()
    await expect.poll(() => answer.textContent()).toMatch(/chat\.completion/)
    // What is refused as it stands is not offered to be sent again.
    const body = JSON.parse(await page.getByLabel('Body').inputValue()) as object
    await page.getByLabel('Body').fill(JSON.stringify({ ...body, stop: [''] }))
    await button('Send').click()
    await answer.getByRole('button', { name: 'Change the request' }).click()
    expect(await answer.textContent()).toContain('stop[0]')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('request-body')
    await page.getByLabel('Body').fill('{ "model": ')
    await button('Send').click()
    expect(await page.locator('#request-fault').textContent()).toContain('not JSON')
    await button('Responses').click()
  })

  test('shows the tokens of a text while it is written, and those that a template puts around it', async () => {
    await page.getByRole('tab', { name: 'Tokenizer' }).click()
    await page.getByLabel('Text to tokenize').fill('a kettle\nand a cup')
    const tokens = page.locator('#tokenizer-answer .tokens')
    await expect.poll(() => tokens.textContent()).toContain('↵')
    expect((await tokens.textContent())!.replaceAll(/[^a-z]/gi, '')).toBe('akettleandacup')
    const state = page.locator('#tokenizer-state')
    const plain = Number.parseInt((await state.textContent())!, 10)
    expect(plain).toBe(await tokens.locator('span').count())
    await page.getByText('Token ids').click()
    const ids = JSON.parse((await page.locator('#tokenizer-answer .code').textContent())!) as number[]
    expect(ids).toHaveLength(plain)
    expect(await barriers(page)).toEqual([])
    await page.getByLabel("In the model's chat template").check()
    await expect.poll(async () => Number.parseInt((await state.textContent())!, 10)).toBeGreaterThan(plain)
    await page.getByLabel("In the model's chat template").uncheck()
  })

  test('measures this device, draws it and shares it', async () => {
    await page.getByRole('tab', { name: 'My device' }).click()
    // By the smallest that is here: what is drawn is the same.
    await chosen(SMALL).check()
    await button('Measure').click()
    await page.locator('.bench-chart').first().waitFor({ timeout: 60_000 })
    expect(await page.locator('.bench-chart').count()).toBe(3)
    await look('19-device')
    expect(await barriers(page)).toEqual([])
    await button('Copy link').click()
    await expect.poll(copied).toMatch(/#device=/)
    const other = await context.newPage()
    await other.goto(await copied())
    await other.getByText('Shared with you').waitFor()
    await other.close()
    const [saved] = await Promise.all([page.waitForEvent('download'), button('Save picture').click()])
    expect((await readFile(await saved.path())).subarray(1, 4).toString()).toBe('PNG')
    await chosen('local-v1/nano').check()
    await page.getByRole('tab', { name: 'Structured' }).click()
  })

  test('adds any model of the hub, once it was looked up', async () => {
    await page.getByRole('tab', { name: 'Structured' }).click()
    const id = page.getByLabel('Add another model')
    // Weights that are made up write as long as they may.
    await page.getByLabel('Max tokens').fill('40')
    await id.fill('nobody')
    await button('Check').click()
    expect(await page.locator('#add-model-found').textContent()).toContain('owner/name')
    await id.fill('someone/tiny-MLC')
    await button('Check').click()
    await fits()
    const facts = page.locator('.found-facts')
    expect(await facts.textContent()).toMatch(/KB to download.*of memory.*a context of.*tokens a second on WebAssembly/)
    await look('20-look')
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: /^Add, / }).click()
    await chosen('someone/tiny-MLC').waitFor()
    // The row may be drawn by what the worker tells before the page chooses it.
    await expect.poll(() => chosen('someone/tiny-MLC').isChecked()).toBe(true)
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('value'))).toBe('someone/tiny-MLC')
    await page.getByRole('button', { name: /^Download .*tiny-MLC/ }).click()
    await ready()
    await button('Generate').click()
    await answered()
    expect(await page.locator('#answer [role="alert"]').count()).toBe(0)
    await page.reload()
    await page.locator('body.ready').waitFor()
    expect(await chosen('someone/tiny-MLC').isChecked()).toBe(true)
    await chosen('local-v1/nano').check()
  })

  test('takes a GGUF file of this computer, keeps it, and forgets it when told to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-playground-'))
    const path = join(folder, 'small.gguf')
    const text = join(folder, 'notes.gguf')
    const chatTemplate = '{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}'
    await writeMadeUp(path, { types: { '*': 'Q8_0' }, chatTemplate })
    await writeFile(text, 'No model, whatever its name.')
    const chooser = page.locator('#add-model-file')
    await chooser.setInputFiles(text)
    const found = page.locator('#add-model-found')
    await found.getByRole('alert').waitFor()
    expect(await found.textContent()).toMatch(/^notes\.gguf is no GGUF file/)
    await chooser.setInputFiles(path)
    await fits()
    expect(await found.textContent()).toMatch(/local\/small.*on this computer/)
    await look('21-file')
    await button('Save and add').click()
    await chosen('local/small').waitFor()
    await expect.poll(() => chosen('local/small').isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Load: small' }).click()
    await ready()
    await button('Generate').click()
    await answered()
    expect(await page.locator('#answer [role="alert"]').count()).toBe(0)
    await page.reload()
    await page.locator('body.ready').waitFor()
    await page.getByRole('button', { name: 'Remove: small' }).click()
    await expect.poll(() => chosen('local/small').count()).toBe(0)
    expect(await page.evaluate(keptNames)).toEqual([])
    await page.getByLabel('Max tokens').fill('400')
    expect(await chosen('local-v1/nano').isChecked()).toBe(true)
    await rm(folder, { recursive: true })
  })

  test('takes a GGUF file that is dropped anywhere on it, and no text', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-playground-'))
    const path = join(folder, 'dropped.gguf')
    await writeMadeUp(path, { types: { '*': 'Q8_0' } })
    const dropping = page.locator('body.dropping')
    const text = await page.evaluateHandle(() => {
      const dragged = new DataTransfer()
      dragged.setData('text/plain', 'A word.')
      return dragged
    })
    await page.dispatchEvent('#text', 'dragenter', { dataTransfer: text })
    expect(await dropping.count()).toBe(0)
    const file = await page.evaluateHandle(
      (base64) => {
        const dragged = new DataTransfer()
        dragged.items.add(new File([Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0))], 'dropped.gguf'))
        return dragged
      },
      (await readFile(path)).toString('base64'),
    )
    await page.dispatchEvent('#text', 'dragenter', { dataTransfer: file })
    await dropping.waitFor()
    await look('22-dropping')
    await page.dispatchEvent('#text', 'drop', { dataTransfer: file })
    await fits()
    expect(await dropping.count()).toBe(0)
    expect(await page.locator('#add-model-found').textContent()).toMatch(/local\/dropped.*on this computer/)
    await page.locator('#add-model-found').getByRole('button', { name: 'Close' }).click()
    expect(await page.locator('#add-model-found').textContent()).toBe('')
    await rm(folder, { recursive: true })
  })

  test('unloads and removes a model', async () => {
    await chosen(SMALL).check()
    await page.getByRole('button', { name: 'Load: SmolLM2 135M' }).click()
    await page.getByRole('button', { name: 'Unload: SmolLM2 135M' }).click()
    await page.locator('.model.selected .state.kept').waitFor()
    await page.getByRole('button', { name: 'Remove: SmolLM2 135M' }).click()
    await page.getByRole('button', { name: /^Download .*SmolLM2 135M/ }).waitFor()
    await chosen('local-v1/nano').check()
    await page.getByRole('tab', { name: 'Structured' }).click()
  })

  test('is dark where that is wanted', async () => {
    await page.getByRole('button', { name: 'Dark theme' }).click()
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    await button('Generate').click()
    await answered()
    expect(await barriers(page)).toEqual([])
    await look('10-dark')
  })

  test('tells what is chosen, and who decided a token, in the colours of the reader too', async () => {
    await page.emulateMedia({ forcedColors: 'active' })
    const styleOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const { backgroundColor, textDecorationLine } = getComputedStyle(element)
          return [backgroundColor, textDecorationLine]
        })
    for (const [chosen, other] of [
      ['[role="tab"][aria-selected="true"]', '[role="tab"][aria-selected="false"]'],
      ['.chip[aria-pressed="true"]', '.chip[aria-pressed="false"]'],
      ['.panel-head .segments :checked + span', '.panel-head .segments :not(:checked) + span'],
      ['.tokens .sampled', '.tokens .forced'],
      ['.share-bar .sampled', '.share-bar .forced'],
    ] as const)
      expect(await styleOf(chosen), chosen).not.toEqual(await styleOf(other))
    await look('10-forced-colours')
    await page.emulateMedia({ forcedColors: 'none' })
  })

  test('has every tab without a barrier, light, dark and on the smallest phone, with nothing cut', async () => {
    /**
     * Without LOCAL_V1_FULL each theme and each width, not each in each; and axe, which takes half a second of a core,
     * looks at each tab once, dark, at either width: light it has seen each in its own test.
     */
    const looks: readonly (readonly [theme: 'light' | 'dark', width: number])[] = FULL
      ? [1280, 1024, 360].flatMap((width) => [['dark', width] as const, ['light', width] as const])
      : [
          ['dark', 1280],
          ['dark', 360],
          ['light', 1024],
        ]
    for (const [at, [theme, width]] of looks.entries()) {
      await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
      const dark = page.getByRole('button', { name: 'Dark theme' })
      if ((await page.locator('html').getAttribute('data-theme')) !== theme) await dark.click()
      for (const [i, tab] of (await tabs()).entries()) {
        await page.getByRole('tab', { name: tab }).click()
        const name = `${theme} ${width} ${tab}`
        await look(`tab-${name.replaceAll(' ', '-').toLowerCase()}`)
        expect(await cutIn(page), name).toEqual([])
        expect(await sidewaysIn(page), name).toEqual([])
        if (FULL || at === i % 2) expect(await barriers(page), name).toEqual([])
        if (width === 360) expect(await smallTargets(page), name).toEqual([])
        const unmarked = page.locator('[role="tabpanel"]:visible:has(textarea):not(:has([data-sent]))')
        expect(await unmarked.count(), `${tab} marks as data-sent the field that a refusal leads to`).toBe(0)
      }
    }
    if ((await page.locator('html').getAttribute('data-theme')) !== 'dark')
      await page.getByRole('button', { name: 'Dark theme' }).click()
    await page.getByRole('tab', { name: 'Structured' }).click()
  })

  test('has nothing cut in a window of any width', async () => {
    const all = await tabs()
    // Without LOCAL_V1_FULL each width with one of the tabs, not with each.
    const step = FULL ? 20 : 20 * all.length
    for (const [i, tab] of all.entries()) {
      await page.getByRole('tab', { name: tab }).click()
      for (let width = 320 + ((20 * i) % step); width < 1500; width += step) {
        await page.setViewportSize({ width, height: 800 })
        expect(await cutIn(page), `${tab} at ${width} px`).toEqual([])
      }
    }
    await page.getByRole('tab', { name: 'Structured' }).click()
  })

  test('shows who decided each token without scrolling, on a phone too', async () => {
    await page.getByText('Tokens', { exact: true }).first().click()
    for (const [width, height] of [
      [1360, 900],
      [768, 1024],
      [360, 740],
    ] as const) {
      await page.setViewportSize({ width, height })
      // A window that has just been made smaller is laid out a moment later.
      const seen = () =>
        page.evaluate(() => {
          scrollTo({ top: 0, behavior: 'instant' })
          const { left, top } = document.querySelector('.tokens .sampled')!.getBoundingClientRect()
          return document.elementFromPoint(left + 2, top + 2)?.className
        })
      await expect.poll(seen, { message: `${width} px` }).toBe('sampled')
    }
  })

  test('fits a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await cutIn(page)).toEqual([])
    await look('11-phone-dark')
    await page.getByRole('button', { name: 'Dark theme' }).click()
    await button('Generate').click()
    await answered()
    expect(
      await page.evaluate(() => document.querySelector('#answer')!.getBoundingClientRect().top / innerHeight),
    ).toBeLessThan(0.5)
    await look('12-phone')
    const panels = page.locator('.rail summary')
    expect(await panels.allTextContents()).toEqual(['Modelnano', 'Settings'])
    const tops = await panels.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
    expect(new Set(tops).size, 'closed, they stand side by side').toBe(1)
    for (const panel of await panels.all()) await panel.click()
    expect(await cutIn(page)).toEqual([])
    await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }))
    await look('13-phone-models')
    for (const panel of await panels.all()) await panel.click()
    await page.getByRole('tab', { name: 'Chat' }).click()
    expect(await cutIn(page)).toEqual([])
    await look('14-phone-chat')
    expect(await barriers(page)).toEqual([])
    await page.getByRole('tab', { name: 'Structured' }).click()
    await page.setViewportSize({ width: 1360, height: 900 })
  })

  test('starts and answers again without a network', async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await hub.close()
    await page.reload()
    await page.locator('body.ready').waitFor()
    await ready()
    await page.getByText('Fields', { exact: true }).click()
    await button('Generate').click()
    await answered()
    expect(await page.locator('#answer .field.done').count()).toBeGreaterThan(0)
    expect(await page.locator('#answer .field:not(.done)').count()).toBe(0)
    // What would have to be downloaded says so, without the address of its hub.
    await page.getByLabel('Add another model').fill('someone/other-MLC')
    await button('Check').click()
    const fault = page.locator('#add-model-found').getByRole('alert')
    expect(await fault.textContent()).toMatch(/^(This device is offline|The model cannot be downloaded now)/)
    expect(await fault.textContent()).not.toContain('http')
  })

  test('had no fault, and broke no rule of its policy', () => {
    // The browser reports each answer that is an error: those above were asked for.
    expect(faults.filter((fault) => !/status of 400/.test(fault))).toEqual([])
  })
})

test('npm run playground builds, serves and says where', async () => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(scripts.playground).toBe('tsx apps/playground/build/main.ts')
  const running = startNode('apps/playground/build/main.ts', { env: { PORT: '0' } })
  try {
    const [, url] = await running.line(/(http:\/\/localhost:\d+\/)/)
    const response = await fetch(url!)
    expect(response.headers.get('content-security-policy')).not.toMatch(/'unsafe-(eval|inline)'/)
    expect(response.headers.get('content-security-policy')).toContain('https://huggingface.co')
    expect(await response.text()).toContain('<title>local-v1 playground</title>')
    expect((await fetch(`${url}../package.json`)).status).toBe(404)
    // What is no address at all does not end the server.
    expect((await fetch(`${url}/`)).status).toBe(404)
    expect((await fetch(url!)).status).toBe(200)
  } finally {
    await running.stop()
  }
})
