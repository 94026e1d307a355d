/** One application and what is asked of it. */
import { type ChildProcess, fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { lookForAdapter } from '../../src/platform/dawn.js'
import { swiftshaderEnv } from '../../test/support/swiftshader.js'
import type { AppOptions, Spent } from './app.js'

export interface Answered {
  readonly tokens: number
  /** From the request, in milliseconds. */
  readonly first: number
}

const QUESTION = 'Tell me about the sea, the wind, the ships that went out, and those who stayed at home. '

export class App {
  readonly #process: ChildProcess
  readonly #agent = new Agent({ keepAlive: true })
  readonly origin: string
  readonly device: string
  #asked = 0

  private constructor(process: ChildProcess, port: number, device: string) {
    this.#process = process
    this.origin = `http://127.0.0.1:${port}`
    this.device = device
  }

  static async start(options: AppOptions): Promise<App> {
    const env = { ...process.env, ...(options.device === 'webgpu' && (await driver())) }
    const child = fork(new URL('./app.ts', import.meta.url), [JSON.stringify(options)], { env })
    const told = await answerOf<{ port: number; name: string; worker: boolean }>(child)
    if ((told.worker === true) !== options.worker) throw new Error(`It computes in a worker: ${told.worker}.`)
    return new App(child, told.port, told.name)
  }

  get pid(): number {
    return this.#process.pid!
  }

  spent(): Promise<Spent> {
    this.#process.send('spent')
    return answerOf(this.#process)
  }

  stop(): void {
    this.#agent.destroy()
    this.#process.disconnect()
  }

  /** A chat as a stream, with a prompt that no other has had. */
  chat(tokens: number): Promise<Answered> {
    const content = `${this.#asked++}: ${QUESTION}`
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

function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`The application ended with ${code}.`))
    child.once('exit', ended).once('message', (told) => {
      child.off('exit', ended)
      resolve(told as T)
    })
  })
}
