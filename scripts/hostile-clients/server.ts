/** The built command line with its default options, as whoever installs it has it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { freePort } from '../../test/support/port.js'
import { Watch } from './ready.js'

export const NANO = 'local-v1/nano'
/** Callers that may come, each of them once: `sk-new-0`, `sk-new-1` and so on. */
const CALLERS = 2000

/** In the folder of a server: what it reads, and what it was given to write. */
const KEYS = 'keys'
const LEDGER = 'usage.jsonl'
/** Where Node from 22.8 on keeps programs that it has compiled. */
const COMPILED = 'tmp/node-compile-cache'
const STORE = 'store'

/** Of a thread, in MiB. */
export interface ThreadMemory {
  readonly thread: string
  /** In use. */
  readonly objects: number
  /** Pages of its heap that its collector keeps for what comes next. */
  readonly kept: number
  /** Of its own compiler and collector. */
  readonly native: number
  readonly buffers: number
  /** What else hangs on objects. */
  readonly other: number
  /** Memories of WebAssembly, by their length: most of it may never have been touched. */
  readonly wasm: number
}

/** In MiB. */
export interface Memory {
  /** By the system's count. */
  readonly resident: number
  readonly threads: readonly ThreadMemory[]
}

export class Server {
  readonly origin: string
  /** Of the models, as it lists them. */
  models: readonly string[] = []
  readonly flooder = 'sk-flooder'
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

  /** `models`: what to offer beside nano. */
  static async start(program: string, models: readonly string[]): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-clients-'))
    const port = await freePort()
    const keys = ['sk-flooder', ...Array.from({ length: CALLERS }, (_, i) => `sk-new-${i}`)]
    const keyFile = join(folder, KEYS)
    writeFileSync(keyFile, keys.join('\n'), { mode: 0o600 })
    writeFileSync(join(folder, LEDGER), '')
    const store = ['--usage-file', join(folder, LEDGER), '--cache', join(folder, STORE)]
    const options = ['--port', `${port}`, '--device', 'cpu', '--ollama', ...store]
    // All that it may find to write to by itself.
    for (const name of ['home', 'tmp', 'here']) mkdirSync(join(folder, name))
    const places = { HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') }
    const offered = models.flatMap((each) => ['--model', each])
    const preloaded = ['--expose-gc', '--import', new URL('watch.mjs', import.meta.url).href]
    const child = spawn(
      process.execPath,
      [...preloaded, resolvePath(program), 'serve', ...options, '--key-file', keyFile, '--model', NANO, ...offered],
      {
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        cwd: join(folder, 'here'),
        env: { ...process.env, ...places },
      },
    )
    let output = ''
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${output}`)))
      child.stderr!.on('data', (text) => {
        output += text
        if (output.includes('is ready')) resolve()
      })
    })
    child.stderr!.resume()
    const server = new Server(`http://127.0.0.1:${port}`, child, folder)
    const headers = { authorization: 'Bearer sk-flooder' }
    const list = (await (await fetch(`${server.origin}/v1/models`, { headers })).json()) as { data: { id: string }[] }
    server.models = list.data.map(({ id }) => id)
    return server
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** What it has in memory once its garbage is collected. */
  async memory(): Promise<Memory> {
    const { resident, threads } = await this.#ask<Memory>('memory')
    const mebibytes = (value: number) => value / 2 ** 20
    const each = ({ thread, ...of }: ThreadMemory) =>
      ({
        ...Object.fromEntries(Object.entries(of).map(([name, bytes]) => [name, mebibytes(bytes)])),
        thread,
      }) as ThreadMemory
    return { resident: mebibytes(resident), threads: threads.map(each) }
  }

  /** Milliseconds of a processor that the longest turn of its event loop has taken since this was last asked. */
  longestTurn(): Promise<number> {
    return this.#ask('turn')
  }

  #ask<T>(what: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const gone = () => reject(new Error('The server has ended.'))
      this.#process.once('exit', gone).once('message', (reply) => {
        this.#process.off('exit', gone)
        resolve(reply as T)
      })
      this.#process.send(what)
    })
  }

  /** Mebibytes of what it has downloaded, whole or not. */
  get stored(): number {
    return this.#files().reduce((sum, path) => sum + (path.startsWith(STORE) ? this.#sizeOf(path) : 0), 0) / 2 ** 20
  }

  /** What it has written elsewhere. */
  get outside(): readonly string[] {
    // The ledger of a run that goes on has a file of its own beside it.
    return this.#files().filter((path) => ![STORE, KEYS, LEDGER, COMPILED].some((name) => path.startsWith(name)))
  }

  #files(): string[] {
    const entries = readdirSync(this.#folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => !entry.isDirectory())
    return files.map(({ parentPath, name }) => join(parentPath, name).slice(this.#folder.length + 1))
  }

  /** It may be gone meanwhile. */
  #sizeOf(path: string): number {
    return statSync(join(this.#folder, path), { throwIfNoEntry: false })?.size ?? 0
  }

  /** Answers that the ledger has, as the disk has it. */
  get counted(): number {
    const lines = readFileSync(join(this.#folder, LEDGER), 'utf8').split('\n').filter(Boolean)
    return lines.filter((line) => (JSON.parse(line) as { outcome?: string }).outcome === 'ok').length
  }

  /** Sends a signal; settles with the exit code and how long it took to come. */
  async stop(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }> {
    const watch = new Watch(this.pid).start()
    let { own } = watch.ms
    const looking = setInterval(() => {
      own = watch.ms.own
    }, 50)
    const ended = new Promise<number | null>((resolve) => this.#process.once('exit', resolve))
    this.#process.kill(signal)
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 20_000)
    const code = await ended
    clearTimeout(late)
    clearInterval(looking)
    return { code, ms: own }
  }

  abandon(): void {
    if (!this.#ended) this.#process.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
