import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sharedChromium } from '../support/chromium.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'

const entry = fileURLToPath(new URL('react-page.tsx', import.meta.url))

describe.skipIf(!canUnpack)('local-v1/react (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let server: Listening
  let page: Page
  const faults: string[] = []

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      write: false,
      external: ['node:*'],
      // React warns of what is wrong in its development build alone.
      define: { 'process.env.NODE_ENV': '"development"' },
    })
    const html = '<!doctype html><title>react</title><main></main><script type="module" src="/page.js"></script>'
    server = await serveFiles({ '/index.html': html, '/page.js': outputFiles[0]!.contents })
    browser = await sharedChromium()
    page = await browser.newPage()
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await page.goto(server.origin)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const shows = (id: string) => expect.poll(() => page.locator(`#${id}`).textContent())
  const states = () => page.evaluate(() => [...(globalThis as unknown as { states: string[] }).states])
  const open = (isOpen: boolean) =>
    page.evaluate((isOpen) => {
      const { gate } = globalThis as unknown as { gate: { open: boolean; wake: () => void } }
      gate.open = isOpen
      if (isOpen) gate.wake()
    }, isOpen)

  test('useModel tells how far a load is', async () => {
    await shows('model').toBe('absent')
    await press('load')
    await shows('model').toBe('loading 5')
    await open(true)
    await shows('model').toBe('ready')
    await press('unload')
    await shows('model').toBe('absent')
    await press('load')
    await shows('model').toBe('ready')
  })

  test('useModel says nothing of the model that it was given before', async () => {
    await press('unload')
    await shows('model').toBe('absent')
    await open(false)
    await press('load')
    await shows('model').toBe('loading 5')
    await press('watch another')
    await shows('model').toBe('failed')
    await shows('model-loaded').toBe('undefined')
    await open(true)
    await press('watch it again')
    await shows('model-loaded').toMatch(/true|false/)
    await press('load')
    await shows('model').toBe('ready')
  })

  test('useModel looks once at an address that is written in place', async () => {
    await shows('by-address').toBe('absent')
    const lookups = () => page.evaluate(() => (globalThis as unknown as { lookups: string[] }).lookups.length)
    // Twice, as effects are run twice in development.
    expect(await lookups()).toBe(2)
  })

  test('useChat streams, and goes on with what was said', async () => {
    await open(false)
    await press('send')
    await shows('chat').toBe('["hello","You said 2: "]')
    await shows('chat-state').toBe('busy')
    await open(true)
    await shows('chat').toBe('["hello","You said 2: hello"]')
    await shows('chat-state').toBe('idle')
    await press('send')
    await shows('chat').toBe('["hello","You said 2: hello","hello","You said 4: hello"]')
  })

  test('useChat keeps what was written when it is stopped, and tells what fails', async () => {
    await press('clear')
    await shows('chat').toBe('[]')
    await open(false)
    await press('send')
    await shows('chat').toBe('["hello","You said 2: "]')
    await press('stop')
    await shows('chat-state').toBe('idle')
    await shows('chat').toBe('["hello","You said 2: "]')
    await open(true)
    await press('other model')
    await press('send')
    await shows('chat-state').toMatch(/^failed: .*no\/model/)
  })

  test('useChat takes what is called in one go in its order', async () => {
    await press('first model')
    await press('begin anew')
    await shows('chat').toBe('["anew","You said 2: anew"]')
    await press('send two')
    await shows('chat').toBe('["anew","You said 2: anew","one","two","You said 5: two"]')
    await shows('chat-state').toBe('idle')
  })

  test('useObject gives the document while it is written', async () => {
    await open(false)
    await press('submit')
    await shows('partial').toBe('{"title":"A ket"}')
    await shows('object').toBe('A ket not yet busy')
    await open(true)
    await shows('object').toBe('A kettle 4 idle')
    await shows('partial').toBe('{"title":"A kettle","stars":4,"tags":["good","red"]}')
  })

  test('useReview lists the least certain first, and takes what a person says', async () => {
    await open(false)
    await press('read')
    await shows('review').toBe('/stars=4<4>? open; /title=A kettle<A kettle> open')
    await shows('reviewed').toBe('not yet   open 1')
    await open(true)
    const [stars, good] = ['/stars=4<4>?', '/tags/0=good<good>?']
    await shows('review').toBe(`/tags/1=red<>? open; ${stars} open; ${good} open; /title=A kettle<A kettle> open`)
    await shows('reviewed').toBe('4 0.7 good,red open 3')
    await press('accept stars')
    await press('edit tag')
    await shows('review').toBe(
      `/tags/1=blue<>? edited; ${stars} accepted; ${good} open; /title=A kettle<A kettle> open`,
    )
    await shows('reviewed').toBe('4 0.7 good,blue open 1')
    await press('reopen stars')
    await shows('reviewed').toBe('4 0.7 good,blue open 2')
    await press('lower')
    await shows('reviewed').toBe('4 0.7 good,blue open 1')
    // Of the next document nothing is decided, though it is the same.
    await press('read')
    await shows('reviewed').toBe('4 0.7 good,red open 2')
  })

  test('useDecision asks once the state stands still, and gives up what is asked about an older one', async () => {
    await press('first model')
    await open(false)
    await shows('decision').toBe('undefined undefined idle')
    expect(await states()).toEqual([])
    await press('type abc')
    await expect.poll(states).toEqual(['abc ...'])
    await press('type xyz')
    await expect.poll(states).toEqual(['abc given up', 'xyz ...'])
    await shows('decision').toBe('undefined undefined busy')
    await open(true)
    await shows('decision').toBe('billing 0.25 idle')
    expect(await states()).toEqual(['abc given up', 'xyz answered'])
    // Until there are newer ones, the answers stay.
    await open(false)
    await press('type abc')
    await expect.poll(states).toContain('abc ...')
    await shows('decision').toBe('billing 0.25 busy')
    await press('stop deciding')
    await shows('decision').toBe('billing 0.25 idle')
    await expect.poll(states).toEqual(['abc given up', 'xyz answered', 'abc given up'])
    await press('empty')
    await shows('decision').toBe('undefined undefined idle')
  })

  test('useDecision shows no answers to other questions, and tells what fails', async () => {
    await open(true)
    await press('type xyz')
    await shows('decision').toBe('billing 0.25 idle')
    await open(false)
    await press('ask more')
    await shows('decision').toBe('undefined undefined busy')
    await open(true)
    await shows('decision').toBe('billing 0.25 idle')
    await press('other model')
    await shows('decision').toMatch(/^failed: .*no\/model/)
    await press('first model')
    await shows('decision').toBe('billing 0.25 idle')
  })

  test('leaves nothing running behind a component that is gone', async () => {
    await open(false)
    await press('type abc')
    await expect.poll(states).toContain('abc ...')
    await press('hide')
    expect(await page.locator('#chat').count()).toBe(0)
    await expect.poll(states).not.toContain('abc ...')
    expect((await states()).at(-1)).toBe('abc given up')
    expect(faults).toEqual([])
  })
})
