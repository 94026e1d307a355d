/** The built command line serving nano, as whoever installs it has it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const MODEL = 'local-v1/nano'
export const CALLERS = { flooder: 'sk-flooder', newcomer: 'sk-newcomer', probe: 'sk-probe' } as const
export type CallerName = keyof typeof CALLERS

export interface Memory {
  readonly resident: number
  /** Of objects that are in use. */
  readonly heap: number
  /** What V8 has taken for objects, in use or not. */
  readonly heapReserved: number
  /** Of buffers. */
  readonly external: number
}

export class Server {
  readonly origin: string
  readonly #process: ChildProcess
  readonly #folder: string
  #ended = false

  private constructor(origin: string, process: ChildProcess, folder: string) {
    this.origin = origin
    this.#process = process
    this.#folder = folder
    process.once('exit', () => {
      this.#ended = true
    })
  }

  /** `extra` are options of the command line that the program under test may not know yet. */
  static async start(program: string, extra: readonly string[]): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-clients-'))
    const port = await freePort()
    const keys = Object.values(CALLERS)
    writeFileSync(join(folder, 'usage.jsonl'), '')
    const options = ['--port', `${port}`, '--device', 'cpu', '--usage-file', join(folder, 'usage.jsonl'), ...extra]
    const preloaded = ['--expose-gc', '--import', new URL('memory.mjs', import.meta.url).href]
    const withKeys = keys.flatMap((key) => ['--key', key])
    const child = spawn(process.execPath, [...preloaded, program, 'serve', ...options, ...withKeys], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let said = ''
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${said}`)))
      child.stderr!.on('data', (text) => {
        said += text
        if (said.includes('is ready')) resolve()
      })
    })
    child.stderr!.resume()
    return new Server(`http://127.0.0.1:${port}`, child, folder)
  }

  /** What it has in memory once its garbage is collected, in MiB: by the system's count and by the runtime's. */
  memory(): Promise<Memory> {
    return new Promise((resolve, reject) => {
      const gone = () => reject(new Error('The server has ended.'))
      this.#process.once('exit', gone).once('message', (usage) => {
        this.#process.off('exit', gone)
        const { rss, heapUsed, heapTotal, external } = usage as NodeJS.MemoryUsage
        const mebibytes = (bytes: number) => bytes / 2 ** 20
        resolve({
          resident: mebibytes(rss),
          heap: mebibytes(heapUsed),
          heapReserved: mebibytes(heapTotal),
          external: mebibytes(external),
        })
      })
      this.#process.send('memory')
    })
  }

  /** Outcomes in the ledger, as the disk has them. */
  get counted(): string[] {
    const lines = readFileSync(join(this.#folder, 'usage.jsonl'), 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => (JSON.parse(line) as { outcome?: string }).outcome ?? '').filter(Boolean)
  }

  /** Sends a signal; settles with the exit code and how long it took to come. */
  async stop(signal: NodeJS.Signals): Promise<{ code: number | null; seconds: number }> {
    const began = performance.now()
    const ended = new Promise<number | null>((resolve) => this.#process.once('exit', resolve))
    this.#process.kill(signal)
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 20_000)
    const code = await ended
    clearTimeout(late)
    rmSync(this.#folder, { recursive: true, force: true })
    return { code, seconds: (performance.now() - began) / 1000 }
  }

  abandon(): void {
    if (!this.#ended) this.#process.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
