import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { openRepository } from '../repository/open.js'
import { defaultFolder } from '../repository/store/disk.js'
import { NANO, nanoFolder } from './engine.js'
import { Fault } from './fault.js'
import { note, paint, progressReporter } from './terminal.js'

export interface CacheOptions {
  readonly cache?: string
}

const HUB = 'huggingface.co'

const hubFolder = ({ cache }: CacheOptions) => join(cache ?? defaultFolder()!, HUB)

/** One line per model: its id, its size, and whether all of it is here. */
export async function list(options: CacheOptions): Promise<void> {
  const rows: string[][] = []
  const nano = await sizeOf(nanoFolder(), false).catch(() => undefined)
  if (nano) rows.push([NANO, megabytes(nano.bytes), 'embedded'])
  const root = hubFolder(options)
  for (const namespace of await namesIn(root)) {
    for (const name of await namesIn(join(root, namespace))) {
      const { bytes, parts } = await sizeOf(join(root, namespace, name))
      rows.push([`${namespace}/${name}`, megabytes(bytes), parts > 0 ? 'incomplete' : 'complete'])
    }
  }
  const width = Math.max(...rows.map(([id]) => id!.length), 0)
  for (const [id, size, state] of rows) process.stdout.write(`${id!.padEnd(width)}  ${size!.padStart(10)}  ${state}\n`)
}

export async function pull(id: string, { cache }: CacheOptions): Promise<void> {
  checkId(id)
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Fault('Stopped; the next pull goes on from here.', 130)))
  const { report, stop } = progressReporter()
  note(paint('dim', `Looking for ${id} at ${HUB}.`))
  try {
    const { signal } = interrupt
    await openRepository(
      { kind: 'hub', repository: id },
      { report: (state) => report({ model: id, ...state }), signal, cache },
    )
  } finally {
    stop()
  }
  note(`${id} is here. Serve it with: local-v1 serve --model ${id}`)
}

export async function remove(id: string, options: CacheOptions): Promise<void> {
  checkId(id)
  const folder = join(hubFolder(options), id)
  const size = await sizeOf(folder).catch(() => undefined)
  if (!size) throw new Fault(`${id} is not on this machine; local-v1 models list shows what is.`, 1)
  await rm(folder, { recursive: true })
  note(`${id} is removed: ${megabytes(size.bytes)} are free again.`)
}

function checkId(id: string): void {
  if (!/^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(id)) throw new Fault(`"${id}" is not a Hugging Face id, <namespace>/<name>.`)
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

async function sizeOf(folder: string, recursive = true): Promise<{ bytes: number; parts: number }> {
  let bytes = 0
  let parts = 0
  for (const entry of await readdir(folder, { recursive, withFileTypes: true })) {
    if (!entry.isFile()) continue
    bytes += (await stat(join(entry.parentPath, entry.name))).size
    if (entry.name.endsWith('.part')) parts++
  }
  return { bytes, parts }
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
