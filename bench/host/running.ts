/** One application and what is asked of it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { lookForAdapter } from '../../src/platform/dawn.js'
import { denoPath } from '../../test/support/deno.js'
import { swiftshaderEnv } from '../../test/support/swiftshader.js'
import type { AppOptions, Opened, Runtime, Spent } from './app.js'

export interface Answered {
  readonly tokens: number
  /** From the request, in milliseconds. */
  readonly first: number
}

const QUESTION = 'Tell me about the sea, the wind, the ships that went out, and those who stayed at home. '

/** How each runtime is started; of Bun, which is no dependency of this repository, `BUN` names the program. */
const PROGRAMS: Readonly<Record<Runtime, () => readonly [program: string, ...arguments_: string[]]>> = {
  node: () => [process.execPath, '--import', 'tsx'],
  deno: () => [denoPath(), 'run', '--allow-all', '--no-lock', '--no-remote', '--node-modules-dir=manual'],
  bun: () => [process.env.BUN!],
}
export const RUNTIMES = (Object.keys(PROGRAMS) as Runtime[]).filter((name) => name !== 'bun' || process.env.BUN)

type Child = ChildProcessByStdio<Writable, Readable, null>

export class App {
  readonly #process: Child
  readonly #lines: Interface
  readonly #agent = new Agent({ keepAlive: true })
  readonly origin: string
  readonly device: string
  #chats = 0

  private constructor(process: Child, lines: Interface, { port, name }: Opened) {
    this.#process = process
    this.#lines = lines
    this.origin = `http://127.0.0.1:${port}`
    this.device = name
  }

  static async start(runtime: Runtime, options: AppOptions): Promise<App> {
    const env = { ...process.env, ...(options.device === 'webgpu' && (await driver())) }
    const [program, ...arguments_] = PROGRAMS[runtime]()
    const app = fileURLToPath(new URL('app.ts', import.meta.url))
    const child = spawn(program, [...arguments_, app, JSON.stringify(options)], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })
    const opened = await lineOf<Opened>(child, lines)
    if ((opened.worker === true) !== options.worker) throw new Error(`It computes in a worker: ${opened.worker}.`)
    return new App(child, lines, opened)
  }

  get pid(): number {
    return this.#process.pid!
  }

  spent(): Promise<Spent> {
    this.#process.stdin.write('\n')
    return lineOf(this.#process, this.#lines)
  }

  stop(): void {
    this.#agent.destroy()
    this.#process.stdin.end()
  }

  /** A chat as a stream, with a prompt that no other has had. */
  chat(tokens: number): Promise<Answered> {
    const content = `${this.#chats++}: ${QUESTION}`
    const body = JSON.stringify({
      model: 'bench/model',
      messages: [{ role: 'user', content }],
      max_tokens: tokens,
      stream: true,
      stream_options: { include_usage: true },
    })
    const began = performance.now()
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const url = `${this.origin}/v1/chat/completions`
      const sent = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        let first: number | undefined
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
          if (first === undefined && /"content":"[^"]/.test(text)) first = performance.now() - began
        })
        response.once('end', () => {
          const counted = /"completion_tokens":(\d+)/.exec(text)?.[1]
          if (counted === undefined) return reject(new Error(`${response.statusCode}: ${text.slice(0, 300)}`))
          resolve({ tokens: Number(counted), first: first ?? performance.now() - began })
        })
      })
      sent.once('error', reject).end(body)
    })
  }
}

/** What this machine has, or else a GPU in software. */
async function driver(): Promise<Record<string, string>> {
  return (await lookForAdapter())?.adapter ? {} : swiftshaderEnv()
}

function lineOf<T>(child: Child, lines: Interface): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`The application ended with ${code}.`))
    child.once('exit', ended)
    lines.once('line', (line) => {
      child.off('exit', ended)
      resolve(JSON.parse(line) as T)
    })
  })
}
