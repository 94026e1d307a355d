/** Run in a page: installs, asks, and keeps what comes of it for the test to look at. */
import OpenAI, { type APIError } from 'openai'
import { type Address, type Installed, type InstallOptions, install } from '../../adapters/service-worker/index.js'
import type { LoadProgress } from '../../src/index.js'
import { type TypedModels, typedAnswers } from '../contract/typed.js'

export interface Said {
  text: string
  /** The message and code of what was thrown at the end. */
  failed?: { message: string; code: unknown; status: unknown }
  done: boolean
}

export interface Tab {
  readonly progress: LoadProgress[]
  install(
    options: InstallOptions,
  ): Promise<Pick<Installed, 'persisted' | 'webgpu' | 'explanation' | 'limits'> & { scope: string }>
  close(): void
  fetch: Installed['fetch']
  /** Asked now: the browser may have been asked meanwhile. */
  persisted(): boolean
  /** Installs and gives up at once: what the promise is rejected with. */
  giveUp(options: InstallOptions): Promise<string>
  /**
   * Begins a chat with the official client and returns its number; what is said so far is in `answers`. It asks by
   * `device.fetch`, or by a plain fetch, which the service worker answers.
   */
  chat(body: object, by?: 'device' | 'service worker'): number
  /** What came of typed questions and fields, as JSON. */
  typed(by: 'device' | 'service worker', models: TypedModels): Promise<string>
  /** Leaves the chat of that number. */
  leave(at: number): void
  readonly answers: Said[]
}

/** The page's policy may require trusted types. */
const { trustedTypes } = window as unknown as {
  trustedTypes?: {
    createPolicy(name: string, rules: object): { createScriptURL(url: string): { toJSON(): string } }
  }
}
const policy = trustedTypes?.createPolicy('tab', { createScriptURL: (url: string) => url })
const trusted = (address: Address) => policy?.createScriptURL(String(address)) ?? String(address)

let installed: Installed | undefined
const leaving: AbortController[] = []
const clients = {
  device: () => new OpenAI({ ...installed!.client, maxRetries: 0 }),
  'service worker': () =>
    new OpenAI({ baseURL: `${location.origin}/v1`, apiKey: 'none', dangerouslyAllowBrowser: true, maxRetries: 0 }),
}

const tab: Tab = {
  progress: [],
  answers: [],
  async install(options) {
    const { script, worker = script } = options
    installed = await install({
      ...options,
      script: trusted(script),
      worker: trusted(worker),
      onProgress: (progress) => tab.progress.push(progress),
    })
    const { persisted, webgpu, explanation, limits, registration } = installed
    return { persisted, webgpu, explanation, limits, scope: registration?.scope ?? '' }
  },
  close: () => installed?.close(),
  fetch: (input, init) => installed!.fetch(input, init),
  persisted: () => installed!.persisted,
  giveUp(options) {
    const aborter = new AbortController()
    const outcome = install({ ...options, signal: aborter.signal }).then(() => 'installed', String)
    aborter.abort('given up')
    return outcome
  },
  chat(body, by = 'service worker') {
    const answer: Said = { text: '', done: false }
    const at = tab.answers.push(answer) - 1
    leaving[at] = new AbortController()
    const messages = [{ role: 'user' as const, content: 'Hello?' }]
    const request = { model: 'test/hello', messages, ...body } as OpenAI.ChatCompletionCreateParams
    void talk(clients[by](), request, answer, leaving[at].signal)
    return at
  },
  async typed(by, models) {
    const ask = by === 'device' ? installed!.fetch : fetch
    return JSON.stringify(await typedAnswers((path, init) => ask(path, init), models))
  },
  leave: (at) => leaving[at]!.abort(),
}

async function talk(
  client: OpenAI,
  body: OpenAI.ChatCompletionCreateParams,
  written: Said,
  signal: AbortSignal,
): Promise<void> {
  try {
    const answer = await client.chat.completions.create(body, { signal })
    if ('choices' in answer) written.text = answer.choices[0]!.message.content ?? ''
    else for await (const chunk of answer) written.text += chunk.choices[0]?.delta.content ?? ''
  } catch (error) {
    const { message, code, status } = error as APIError
    written.failed = { message, code, status }
  }
  written.done = true
}

Object.assign(window, { tab })
