/** Firefox and WebKitGTK, as this machine has them: what a check needs of WebDriver, without a client library. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './port.js'
import { type Running, start } from './spawn.js'

export interface Driven {
  /** For files: `firefox`. */
  readonly name: string
  readonly version: string
  /** What makes another process of tests use this very browser. */
  readonly env: Readonly<Record<string, string>>
  /** A tab of its own at that address. */
  open(url: string): Promise<DrivenTab>
  close(): Promise<void>
}

export interface DrivenPage {
  /** What the function gives in the page; it is sent as text. */
  evaluate<Args extends readonly unknown[], Result>(
    run: string | ((...args: Args) => Result | Promise<Result>),
    ...args: Args
  ): Promise<Result>
}

export interface DrivenTab extends DrivenPage {
  goto(url: string): Promise<void>
  /** The first frame in it: as narrow as a page likes, where windows have a least width. */
  readonly frame: DrivenPage
  /** What is seen of it, as a PNG. */
  screenshot(): Promise<Uint8Array>
  close(): Promise<void>
}

/** The commands of WebDriver by the names that Marionette, Firefox's own end of it, has for them. */
type Send = (name: Command, parameters?: object) => Promise<unknown>
type Command = keyof typeof ROUTES

const ROUTES = {
  'WebDriver:NewSession': ['POST', ''],
  'WebDriver:DeleteSession': ['DELETE', '/ID'],
  'WebDriver:SetTimeouts': ['POST', '/ID/timeouts'],
  'WebDriver:GetWindowHandle': ['GET', '/ID/window'],
  'WebDriver:NewWindow': ['POST', '/ID/window/new'],
  'WebDriver:SwitchToWindow': ['POST', '/ID/window'],
  'WebDriver:SetWindowRect': ['POST', '/ID/window/rect'],
  'WebDriver:CloseWindow': ['DELETE', '/ID/window'],
  'WebDriver:Navigate': ['POST', '/ID/url'],
  'WebDriver:ExecuteAsyncScript': ['POST', '/ID/execute/async'],
  'WebDriver:SwitchToFrame': ['POST', '/ID/frame'],
  'WebDriver:TakeScreenshot': ['GET', '/ID/screenshot'],
} as const

/** The function stands in the text itself: a page's policy may forbid to make one of it. */
const scriptFor = (run: string) => `
const args = arguments[0], done = arguments[1]
const __name = (it) => it
Promise.resolve().then(() => (${run})(...args))
  .then((value) => done({ value }), (error) => done({ error: String(error) + '\\n' + (error && error.stack) }))`

async function driven(
  name: string,
  env: Driven['env'],
  send: Send,
  capabilities: object,
  end: () => Promise<void>,
): Promise<Driven> {
  const session = (await send('WebDriver:NewSession', capabilities)) as { capabilities: { browserVersion: string } }
  await send('WebDriver:SetTimeouts', { script: 120_000, pageLoad: 60_000 })
  const home = (await send('WebDriver:GetWindowHandle')) as string
  // One window has the floor at a time.
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <Value>(act: () => Promise<Value>): Promise<Value> => {
    const next = turn.then(act, act)
    turn = next.catch(() => {})
    return next
  }
  return {
    name,
    env: { CONTRACT_BROWSERS: name, ...env },
    version: session.capabilities.browserVersion,
    async open(url) {
      const opened = await inTurn(async () => {
        // The window that had the floor may be closed.
        await send('WebDriver:SwitchToWindow', { handle: home })
        // WebKitGTK paints no tab but the one in front, and its driver waits for ever for a picture of another.
        return send('WebDriver:NewWindow', { type: name === 'webkit' ? 'window' : 'tab' })
      })
      const { handle } = opened as { handle: string }
      const here = <Value>(act: () => Promise<Value>) =>
        inTurn(async () => {
          await send('WebDriver:SwitchToWindow', { handle })
          return act()
        })
      // A new window of WebKitGTK's has a size of its own.
      if (name === 'webkit') await here(() => send('WebDriver:SetWindowRect', { width: 1400, height: 1000 }))
      const evaluating = (enter: () => Promise<unknown>) =>
        async function evaluate<Result>(run: unknown, ...args: readonly unknown[]): Promise<Result> {
          const script = scriptFor(String(run))
          const reply = (await here(async () => {
            await enter()
            return send('WebDriver:ExecuteAsyncScript', { script, args: [args] })
          })) as { value?: Result; error?: string }
          if (reply.error !== undefined) throw new Error(reply.error)
          return reply.value as Result
        }
      const goto = async (url: string) => void (await here(() => send('WebDriver:Navigate', { url })))
      await goto(url)
      return {
        goto,
        evaluate: evaluating(async () => {}),
        frame: { evaluate: evaluating(() => send('WebDriver:SwitchToFrame', { id: 0 })) },
        screenshot: async () =>
          Buffer.from((await here(() => send('WebDriver:TakeScreenshot', { full: false }))) as string, 'base64'),
        close: async () => void (await here(() => send('WebDriver:CloseWindow', {}))),
      }
    },
    close: end,
  }
}

/**
 * Debian's Firefox ESR, or the one that LOCAL_V1_FIREFOX names, by Marionette: no geckodriver is needed. `settings` are
 * those of `about:config`.
 */
export async function launchFirefox(
  program = process.env.LOCAL_V1_FIREFOX ?? 'firefox-esr',
  settings: Readonly<Record<string, number | boolean>> = {},
): Promise<Driven> {
  const profile = await mkdtemp(join(tmpdir(), 'local-v1-firefox-'))
  const port = await freePort()
  const preferences = { 'marionette.port': port, 'browser.shell.checkDefaultBrowser': false, ...settings }
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`)
  await writeFile(join(profile, 'user.js'), lines.join('\n'))
  const size = { MOZ_HEADLESS_WIDTH: '1400', MOZ_HEADLESS_HEIGHT: '1000' }
  const args = ['--headless', '--marionette', '--no-remote', '--profile', profile]
  const running = start(program, args, { HOME: profile, ...size })
  const socket = await connected(port, running)
  return driven('firefox', { LOCAL_V1_FIREFOX: program }, marionette(socket), {}, async () => {
    socket.destroy()
    await running.stop('SIGTERM')
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
}

/** WebKitGTK's MiniBrowser by WebKitWebDriver, on a display of its own: the nearest to Safari that Linux has. */
export async function launchWebKit(): Promise<Driven> {
  const port = await freePort()
  const home = await mkdtemp(join(tmpdir(), 'local-v1-webkit-'))
  const env = {
    HOME: home,
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    LIBGL_ALWAYS_SOFTWARE: '1',
    // Safari has it in isolated pages; WebKitGTK only where it is asked for.
    JSC_useSharedArrayBuffer: '1',
  }
  // A group: xvfb-run ends by a signal and leaves the display and the driver behind.
  const command = ['-a', '-s', '-screen 0 1600x1200x24', 'WebKitWebDriver', `--port=${port}`, '--host=127.0.0.1']
  const running = start('xvfb-run', command, env, { group: true })
  ;(await connected(port, running)).destroy()
  const binary = process.env.LOCAL_V1_WEBKIT ?? '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser'
  const options = { 'webkitgtk:browserOptions': { binary, args: ['--automation', '--geometry=1400x1000'] } }
  const send = overHttp(`http://127.0.0.1:${port}/session`)
  return driven('webkit', {}, send, { capabilities: { alwaysMatch: options } }, async () => {
    await send('WebDriver:DeleteSession').catch(() => {})
    await running.stop('SIGTERM')
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
}

function overHttp(base: string): Send {
  let id = ''
  return async (name, parameters) => {
    const [method, path] = ROUTES[name]
    const body = method === 'POST' ? JSON.stringify(parameters ?? {}) : undefined
    const response = await fetch(base + path.replace('ID', id), { method, body })
    const { value } = (await response.json()) as { value: { error?: string; message?: string; sessionId?: string } }
    if (!response.ok) throw new Error(`${name}: ${value.error} ${value.message}`)
    if (value?.sessionId) id = value.sessionId
    return value
  }
}

/** Each message is its length, a colon, and `[type, id, name or error, parameters or result]`. */
function marionette(socket: Socket): Send {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let rest = Buffer.alloc(0)
  let last = 0
  socket.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const colon = rest.indexOf(':')
      const length = Number(rest.toString('latin1', 0, Math.max(0, colon)))
      if (colon < 0 || rest.length < colon + 1 + length) return
      const message = JSON.parse(rest.toString('utf8', colon + 1, colon + 1 + length)) as unknown
      rest = rest.subarray(colon + 1 + length)
      // The first one is a greeting.
      if (!Array.isArray(message)) continue
      const [, id, error, result] = message as [number, number, { error: string; message: string } | null, unknown]
      const one = waiting.get(id)
      waiting.delete(id)
      if (error) one?.reject(new Error(`${error.error}: ${error.message}`))
      else one?.resolve((result as { value?: unknown } | null)?.value ?? result)
    }
  })
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Firefox is gone.'))
  })
  return (name, parameters = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      const text = JSON.stringify([0, id, name, parameters])
      socket.write(`${Buffer.byteLength(text)}:${text}`)
    })
}

async function connected(port: number, running: Running): Promise<Socket> {
  let ended = false
  void running.exit.then(() => {
    ended = true
  })
  for (let tried = 0; tried < 300 && !ended; tried++) {
    const socket = connect(port, '127.0.0.1')
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    if (open) return socket
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  await running.stop()
  throw new Error(`It did not start:\n${running.output()}`)
}
