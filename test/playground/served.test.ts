import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { get } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseCsv } from '../../apps/playground/page/table/csv.js'
import { fieldsFromAnswer } from '../../apps/playground/page/table/draft-schema.js'
import { getOrMake } from '../../src/platform/maps.js'
import { sharedChromium } from '../support/chromium.js'
import { PROGRAM } from '../support/cli.js'
import { withOllama } from '../support/ollama-machine.js'
import { printed, type Running, start } from '../support/spawn.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn } from './audit.js'
import { slowHub } from './hub.js'
import { picture } from './picture.js'

const KEY = 'a-key-for-tests'
/** A model that is no nano writes long on a busy machine. */
const LONG = 300_000
const running: Running[] = []
afterAll(() => Promise.all(running.map((each) => each.stop())))

/** `--terminal` as if its output were a terminal. */
async function serve(args: readonly string[] = [], env: Record<string, string> = {}, terminal = false) {
  const asTerminal = terminal ? ['--import', 'data:text/javascript,process.stderr.isTTY=true'] : []
  const command = [...asTerminal, PROGRAM, 'serve', '--device', 'cpu', '--port', '0', ...args]
  const process_ = start(process.execPath, command, { NO_COLOR: '1', ...env })
  running.push(process_)
  const origin = await printed(process_, /url\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/)
  await printed(process_, /(try {5})/)
  return { origin, process: process_ }
}

const shared = new Map<string, ReturnType<typeof serve>>()

/** One that all tests ask who want it so, and of which none wants more than an answer. */
function served(as: 'open' | 'with a key' | 'with a key, at a terminal'): ReturnType<typeof serve> {
  const env: Record<string, string> = as === 'open' ? {} : { LOCAL_V1_KEY: KEY }
  return getOrMake(shared, as, () => serve([], env, as.endsWith('terminal')))
}

/** For Node: whatever is asked of Hugging Face is asked of this hub. */
function insteadOfHub(origin: string): string {
  const script = `
    const ask = globalThis.fetch
    const there = (url) => String(url).replace('https://huggingface.co', ${JSON.stringify(origin)})
    globalThis.fetch = (input, init) =>
      input instanceof Request ? ask(new Request(there(input.url), input), init) : ask(there(input), init)`
  return `data:text/javascript,${encodeURIComponent(script)}`
}

/** As a browser under another name would ask. */
function askAs(origin: string, headers: Record<string, string>, path = '/'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(origin + path, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
}

describe('the page of local-v1 serve', () => {
  let origin: string
  beforeAll(async () => {
    origin = (await served('open')).origin
  })

  test('is served at /, under a strict policy, next to the API', async () => {
    const response = await fetch(`${origin}/`)
    expect(response.headers.get('content-type')).toContain('text/html')
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("connect-src 'self'")
    expect(policy).not.toMatch(/unsafe/)
    expect(await response.text()).toContain('data-place="server"')
    expect((await fetch(`${origin}/v1/models`)).status).toBe(200)
    expect((await fetch(`${origin}/health`)).status).toBe(200)
    expect((await (await fetch(`${origin}/elsewhere`)).json()).error.code).toBe('unknown_url')
    expect((await fetch(`${origin}/`, { method: 'POST' })).status).toBe(404)
  })

  test.each(['/', '/app.js', '/playground.json', '/?x#y'])(
    'is refused under names that are rebound to it: %s',
    async (path) => {
      expect(await askAs(origin, { host: 'rebound.example' }, path)).toBe(403)
      expect(await askAs(origin, { host: '127.0.0.1:99999' }, path)).toBe(400)
      expect(await askAs(origin, { origin: 'https://evil.example' }, path)).toBe(403)
      expect(await askAs(origin, { host: 'localhost' }, path)).toBe(200)
    },
  )

  test('is small', () => {
    const script = readFileSync(new URL('../../dist/playground/app.js', import.meta.url))
    expect(gzipSync(script).length).toBeLessThan(120_000)
  })

  test('is not there with --no-playground', async () => {
    const { origin: other, process: process_ } = await serve(['--no-playground'])
    expect((await fetch(`${other}/`)).status).toBe(404)
    expect((await fetch(`${other}/app.js`)).status).toBe(404)
    expect(process_.output()).not.toMatch(/page\s+http/)
  })

  const asking = (body: unknown, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

  test.each([
    ['not JSON', 'model'],
    [{ model: 7 }, 'model'],
    [{ model: '/etc/passwd' }, 'model'],
    [{ model: './secret.gguf' }, 'model'],
    [{ model: 'http://127.0.0.1:1/x.gguf' }, 'model'],
    [{ model: 'a/b', contextLength: 0 }, 'contextLength'],
    [{ model: 'a/b', quantize: 'q1' }, 'quantize'],
    [{ model: 'a'.repeat(5000) }, 'model'],
  ])('takes names of models alone from its page: %j', async (body, param) => {
    for (const path of ['look', 'models']) {
      const response = await fetch(`${origin}/playground/${path}`, asking(body))
      expect(response.status).toBe(400)
      expect((await response.json()).error).toMatchObject({ param, type: 'invalid_request_error' })
    }
    expect((await (await fetch(`${origin}/v1/models`)).json()).data).toHaveLength(1)
  })

  test('lets no foreign page look or add', async () => {
    const foreign = { origin: 'https://evil.example' }
    for (const path of ['look', 'models'])
      expect((await fetch(`${origin}/playground/${path}`, asking({ model: 'a/b' }, foreign))).status).toBe(403)
    expect(await askAs(origin, foreign, '/playground/models')).toBe(403)
    expect(await askAs(origin, { host: 'rebound.example' }, '/playground/models')).toBe(403)
    expect((await fetch(`${origin}/playground/other`)).status).toBe(404)
  })

  test('adds models for its own key alone, where there are keys', async () => {
    const { origin: other, process: process_ } = await served('with a key, at a terminal')
    const own = await printed(process_, /page\s+http:\S+#key=([\w-]{32})/)
    const status = async (key: string) =>
      (await fetch(`${other}/playground/models`, { headers: { authorization: `Bearer ${key}` } })).status
    expect([await status(own), await status(KEY), await status('')]).toEqual([200, 403, 403])
    // Without a terminal there is no such key, and no way in.
    const { origin: kept } = await served('with a key')
    const headers = { authorization: `Bearer ${KEY}` }
    expect((await fetch(`${kept}/playground/models`, { headers })).status).toBe(404)
  })

  test('prints no key if its output may be stored', async () => {
    const { process: process_ } = await served('with a key')
    const line = await printed(process_, /(page\s+http.*)/)
    expect(line).toMatch(/\/, which asks for a key$/)
    expect(process_.output()).not.toContain(KEY)
  })

  test('prints on a terminal a link with a key of this run, never one of those given', async () => {
    const { origin: other, process: process_ } = await served('with a key, at a terminal')
    const key = await printed(process_, /page\s+http:\S+#key=([\w-]{32})/)
    expect(process_.output()).not.toContain(KEY)
    const ask = (bearer: string) => fetch(`${other}/v1/models`, { headers: { authorization: `Bearer ${bearer}` } })
    expect((await ask(key)).status).toBe(200)
    expect((await ask(KEY)).status).toBe(200)
    expect((await ask(`${key}x`)).status).toBe(401)
    const loading = { method: 'POST', headers: { authorization: `Bearer ${key}` } }
    // It may ask, and may not manage.
    expect((await fetch(`${other}/v1/models/local-v1/nano/unload`, loading)).ok).toBe(false)
  })
})

describe.skipIf(!canUnpack)('in a browser (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await sharedChromium()
  })
  afterAll(() => browser?.close())

  async function visit(url: string): Promise<{ page: Page; urls: string[] }> {
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    page.setDefaultTimeout(15_000)
    const urls: string[] = []
    page.on('request', (request) => urls.push(request.url()))
    await page.goto(url)
    return { page, urls }
  }

  async function extracts(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await page.locator('.tokens .forced').first().waitFor()
    await page.locator('#answer[aria-busy="false"]').waitFor()
    const text = await page.locator('.tokens').textContent()
    expect(Object.keys(JSON.parse(text ?? ''))).toContain('ticket')
  }

  test('asks the server, and no service worker', async () => {
    const { origin } = await served('open')
    const { page, urls } = await visit(`${origin}/`)
    await page.locator('body.ready').waitFor()
    await extracts(page)
    expect(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0)
    expect(urls.every((url) => url.startsWith(origin) || url.startsWith('data:'))).toBe(true)
    expect(await page.locator('#what').textContent()).toMatch(/nothing you write goes anywhere else\.$/)
    await picture(page, 'served')
    expect(await barriers(page)).toEqual([])
    // What it is and how it is installed is told by this server, too.
    const links = page.locator('#links a')
    expect(await links.allTextContents()).toEqual(expect.arrayContaining(['Docs', 'Install']))
    const addresses = await links.evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href))
    for (const address of addresses.filter((each) => each.startsWith(origin))) {
      await page.goto(address)
      const { hash } = new URL(address)
      if (hash !== '') expect(await page.locator(`section${hash} h1`).textContent()).toBe('Node')
    }
    const inPage = page.locator('a[href^="#"]')
    const lost = await inPage.evaluateAll((all) =>
      all.map((each) => each.getAttribute('href')!).filter((href) => document.querySelector(href) === null),
    )
    expect([await inPage.count().then((count) => count > 20), lost]).toEqual([true, []])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 360, height: 800 })
    await page.reload()
    await picture(page, 'served-docs')
    expect([await barriers(page), await cutIn(page)]).toEqual([[], []])
  })

  test('answers a browser of the network, whose page is not a secure one', async () => {
    const { origin } = await served('open')
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    page.setDefaultTimeout(15_000)
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))
    const there = 'http://lan.example'
    await page.route(`${there}/**`, async (route) => {
      const url = route.request().url().replace(there, origin)
      await route.fulfill({ response: await route.fetch({ url, headers: { 'content-type': 'application/json' } }) })
    })
    await page.goto(`${there}/`)
    await page.locator('body.ready').waitFor()
    expect(await page.evaluate(() => isSecureContext)).toBe(false)
    await extracts(page)
    await page.evaluate(() => {
      document.addEventListener('copy', () => document.body.append('something was copied'), { once: true })
    })
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.getByText('something was copied').waitFor()
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.locator('#message').fill('Who are you?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.message.assistant .metrics-line').waitFor()
    await page.locator('#new-chat').click()
    expect(await page.locator('#earlier-count').textContent()).toBe('Earlier chats: 1')
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('recommends models with size and fit, and downloads one by one press, with progress', async () => {
    const hub = await slowHub()
    const { env, folder } = await withOllama()
    const { origin } = await serve([], { ...env, NODE_OPTIONS: `--import=${insteadOfHub(hub.origin)}` })
    const { page } = await visit(`${origin}/`)
    await page.locator('body.ready').waitFor()
    const row = page.locator('.model', { hasText: 'SmolLM2 135M' })
    expect(await row.locator('.model-facts').textContent()).toBe('269 MB · needs 368 MB')
    expect(await row.locator('.state').textContent()).toBe('Fits')
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.locator('#chat-larger').waitFor()
    await row.locator('input').check()
    expect(await row.getByRole('button').allTextContents()).toEqual(['Download 269 MB', 'Estimate speed'])
    expect(await page.locator('#send').textContent()).toBe('Download 269 MB and send')
    await picture(page, 'served-models', true)
    expect(await barriers(page)).toEqual([])
    await row.getByRole('button', { name: /^Download/ }).click()
    await expect
      .poll(() => row.locator('.progress-facts').textContent(), { timeout: 30_000 })
      .toMatch(/^\d+ KB of \d+ KB/)
    await row.getByRole('button', { name: /^Stop/ }).click()
    await row.getByRole('button', { name: /^Download/ }).waitFor()
    expect(await row.locator('.model-error').count()).toBe(0)
    hub.release()
    await row.getByRole('button', { name: /^Download/ }).click()
    await row.locator('.state.ready').waitFor({ timeout: 60_000 })
    const served = (await (await fetch(`${origin}/v1/models`)).json()) as { data: { id: string }[] }
    expect(served.data.map(({ id }) => id)).toContain('mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC')
    await hub.close()
    await rm(folder, { recursive: true })
  })

  test("adds a model of Ollama's, once it was looked up", async () => {
    const { env, folder } = await withOllama()
    const { origin } = await serve([], env)
    const { page } = await visit(`${origin}/`)
    await page.locator('body.ready').waitFor()
    expect(await page.locator('#add-model-here summary').textContent()).toBe('On this machine already: 1')
    await page.getByRole('button', { name: 'ollama:small:1b' }).click()
    await page.locator('#add-model-found').getByText(/^Fits/).waitFor({ timeout: 30_000 })
    expect(await page.locator('.found-facts').textContent()).toMatch(/nothing to download.*tokens a second/)
    await picture(page, 'served-look')
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('input[value="ollama/small-1b"]:checked').waitFor({ state: 'attached' })
    // Weights that are made up write as long as they may.
    const short = { ticket: { type: 'integer', minimum: 1, maximum: 999 } }
    const schema = { type: 'object', properties: short, required: ['ticket'], additionalProperties: false }
    await page.getByRole('textbox', { name: 'Schema' }).fill(JSON.stringify(schema))
    await extracts(page)
    const ask = page.getByLabel('Add another model')
    await ask.fill('ollama:nothing')
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.locator('#add-model-found [role="alert"]').waitFor()
    expect(await page.locator('#add-model-found').textContent()).toContain('ollama:small:1b')
    await rm(folder, { recursive: true })
  })

  test('drafts columns with a model that writes, fills them and gives the table away', { timeout: LONG }, async () => {
    const { env, folder } = await withOllama()
    const { origin } = await serve(['--model', 'ollama:small:1b'], env)
    const { page } = await visit(`${origin}/#/table`)
    page.setDefaultTimeout(LONG)
    await page.locator('body.ready').waitFor()
    const answers: Promise<string>[] = []
    page.on('response', (response) => {
      if (response.request().postData()?.includes('"name":"columns"')) answers.push(response.text().catch(String))
    })
    await page.getByLabel('Texts, one per line').fill('Ana sends two lamps.\nBen sends a chair.')
    await page.getByLabel('What do you want to know about each text?').fill('who sends what')
    await page.getByRole('button', { name: 'Make columns' }).click()
    await page.locator('#table-facts', { hasText: 'drafting' }).waitFor()
    await page.locator('#table-facts', { hasText: '0 of 2 rows' }).waitFor()
    const [stream = ''] = await Promise.all(answers)
    const pieces = [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!))
    const drafted = fieldsFromAnswer(pieces.map(({ choices }) => choices[0]?.delta.content ?? '').join(''))
    const names = drafted.map(({ name }) => name)
    expect(names.length).toBeGreaterThan(0)
    expect((await page.locator('.grid thead th').allTextContents()).slice(2)).toEqual(names)
    await picture(page, 'served-draft', true)
    await page.getByRole('button', { name: 'Fill 2 rows' }).click()
    await page.locator('#table-facts', { hasText: '2 of 2 rows' }).waitFor()
    await picture(page, 'served-table', true)
    expect([await barriers(page), await cutIn(page)]).toEqual([[], []])
    const csv = page.getByRole('button', { name: 'CSV' })
    const [download] = await Promise.all([page.waitForEvent('download'), csv.click()])
    const [head, ...rows] = parseCsv(readFileSync(await download.path(), 'utf8'))
    expect([head, rows.length]).toEqual([[...names, 'text', 'least_sure'], 2])
    await rm(folder, { recursive: true })
  })

  test('takes its key from the fragment, which is sent to nobody and does not stay in the address', async () => {
    const { process: process_ } = await served('with a key, at a terminal')
    const link = await printed(process_, /page\s+(http:\S+#key=[\w-]+)/)
    const { page, urls } = await visit(link)
    await page.locator('body.ready').waitFor()
    expect(new URL(page.url()).hash).toBe('')
    await extracts(page)
    const secret = new URL(link).hash.slice(5)
    expect(urls.filter((url) => url.replace(/#.*$/, '').includes(secret))).toEqual([])
    expect(process_.output().split(secret)).toHaveLength(2)
    // It stays for this tab.
    await page.reload()
    await page.locator('body.ready').waitFor()
  })

  test('asks for a key where it has none, and goes on with it', async () => {
    const { origin } = await served('with a key')
    const { page } = await visit(`${origin}/`)
    const give = page.getByRole('button', { name: 'Enter a key' })
    await give.waitFor()
    expect(await barriers(page)).toEqual([])
    await give.click()
    await picture(page, 'served-key')
    expect(await barriers(page)).toEqual([])
    // What is asked fills the dialog.
    const [dialog, field] = await Promise.all(['#key-dialog', '#key'].map((id) => page.locator(id).boundingBox()))
    expect(field!.width).toBeGreaterThan(0.8 * dialog!.width)
    // No header can carry the second.
    for (const wrong of ['wrong', 'ключ–1']) {
      await page.getByRole('textbox', { name: 'Key' }).fill(wrong)
      await page.getByRole('button', { name: 'Use key' }).click()
      await give.click()
    }
    await page.getByRole('textbox', { name: 'Key' }).fill(KEY)
    await page.getByRole('button', { name: 'Use key' }).click()
    await page.locator('body.ready').waitFor()
    await extracts(page)

    const again = page.getByRole('button', { name: 'Try again' })
    const failure = async (route: (route: Route) => Promise<void>) => {
      await page.route('**/v1/models', route)
      await page.reload()
      await again.waitFor()
      await page.unroute('**/v1/models')
      return page.locator('#starting main').textContent()
    }
    expect(await failure((route) => route.abort())).toMatch(/does not answerNothing answers at 127\.0\.0\.1:/)
    await again.click()
    await page.locator('body.ready').waitFor()
    // What goes wrong in the page says nothing of the server.
    expect(await failure((route) => route.fulfill({ json: {} }))).toMatch(
      /cannot start hereSomething .* failed \(TypeError\)/,
    )
    await again.click()
    await page.locator('body.ready').waitFor()
  })
})
