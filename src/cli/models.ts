import { readdir, rm, stat } from 'node:fs/promises'
import { freemem } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { type DevicePreference, type Fit, memoryLine, openFitter } from '../engines/index.js'
import {
  defaultFolder,
  freeStorage,
  listForeign,
  locationOf,
  type ModelLocation,
  modelsIn,
  NANO,
  openRepository,
  surveyed,
  verify,
} from '../models/index.js'
import type { CacheTypeChoice } from '../platform/index.js'
import { fromOf, nanoFolder } from './engine.js'
import { Fault } from './fault.js'
import { note, paint, progressReporter } from './terminal.js'

export interface CacheOptions {
  readonly cache?: string
}

const HUB = 'huggingface.co'

const hubFolder = ({ cache }: CacheOptions) => join(cache ?? defaultFolder()!, HUB)

/** What is told of a model on this machine. */
interface Row {
  readonly id: string
  readonly bytes?: number
  readonly state: string
}

/** One line per model: its id, its size, and whether all of it is here. */
export async function listCommand(options: CacheOptions & { readonly json?: boolean }): Promise<void> {
  const rows = await rowsOf(options)
  if (options.json) return void process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`)
  const width = Math.max(...rows.map(({ id }) => id.length), 0)
  for (const { id, bytes, state } of rows) {
    const size = bytes === undefined ? '' : megabytes(bytes)
    process.stdout.write(`${id.padEnd(width)}  ${size.padStart(10)}  ${state}\n`)
  }
}

async function rowsOf(options: CacheOptions): Promise<Row[]> {
  const embedded = await embeddedRow()
  const rows = embedded ? [embedded] : []
  const root = hubFolder(options)
  for (const namespace of await namesIn(root)) {
    for (const name of await namesIn(join(root, namespace))) {
      const { bytes, parts } = await sizeOf(join(root, namespace, name))
      rows.push({ id: `${namespace}/${name}`, bytes, state: parts > 0 ? 'incomplete' : 'complete' })
    }
  }
  return [...rows, ...(await foreignRows())]
}

async function embeddedRow(): Promise<Row | undefined> {
  try {
    return { id: NANO, bytes: (await sizeOf(nanoFolder(), false)).bytes, state: 'embedded' }
  } catch {
    // Its package is not installed.
    return undefined
  }
}

/** What other programs keep here, with the reason where it cannot be read. */
async function foreignRows(): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, store, locate } of await listForeign()) {
    try {
      const { bytes, lack } = await surveyed(await locate())
      rows.push({ id: name, bytes, state: lack === undefined ? `in ${store}` : `in ${store}; ${reasonOf(lack)}` })
    } catch (error) {
      rows.push({ id: name, state: `in ${store}; ${reasonOf(error)}` })
    }
  }
  return rows
}

/** Without the model's place, which the line names already. */
const reasonOf = (error: unknown) =>
  String(error instanceof Error ? error.message : error).replace(/^The model at .*? cannot be loaded: /, '')

export interface FitsOptions extends CacheOptions {
  readonly device: DevicePreference
  readonly context?: number
  readonly cacheType?: CacheTypeChoice
}

/** Whether models would run here, by the heads of their files alone; without names, all that are on this machine. */
export async function fitsCommand(
  names: readonly string[],
  { cache, device, context, cacheType }: FitsOptions,
): Promise<void> {
  const wanted = await namedOrAll(names, { cache })
  for (const name of wanted) placeOf(name)
  // What the system would have to take from others is not counted.
  const fitter = await openFitter(device, freemem())
  note(paint('dim', `On ${fitter.device}, with ${megabytes(freemem())} of memory free.`))
  let bad = 0
  try {
    for (const name of wanted) {
      const verdict = await fitter
        .fit(fromOf(name), {
          ...(context !== undefined && { contextLength: context }),
          ...(cacheType && { cacheType }),
          cache,
        })
        .then(lineOf, (error: unknown) => `no   ${reasonOf(error)}`)
      if (verdict.startsWith('no')) bad++
      process.stdout.write(`${verdict.slice(0, 5)}${name}  ${verdict.slice(5)}\n`)
    }
  } finally {
    fitter.close()
  }
  if (bad > 0) throw new Fault(`${bad} of these would not run here.`, 1)
}

function lineOf({ leftBytes, memoryBytes, memory, contextLength, tokensPerSecond, lacks, instead }: Fit): string {
  const left = leftBytes > 0 ? `${megabytes(leftBytes)} to download` : 'nothing to download'
  if (memoryBytes === undefined) {
    const ways = instead.map(({ how, memoryBytes }) => `${how} would take ${megabytes(memoryBytes)}`)
    const advice = ways.length > 0 ? ways.join(', ') : 'only a smaller model or quantisation would'
    return `no   ${left}; ${lacks}; ${advice}`
  }
  const speed = tokensPerSecond === undefined ? '' : `, about ${Number(tokensPerSecond.toPrecision(2))} tokens/s`
  const parts = memory ? ` (${memoryLine(memory)})` : ''
  return `yes  ${left}, ${megabytes(memoryBytes)} of memory${parts} at a context of ${contextLength}${speed}`
}

/** Holds files against what their source says of them: sizes always, hashes where there are any. */
export async function verifyModels(names: readonly string[], { cache }: CacheOptions): Promise<void> {
  const wanted = await namedOrAll(names, { cache })
  let bad = 0
  for (const name of wanted) {
    try {
      for await (const { name: file, by, fault } of verify(placeOf(name), cache, new AbortController().signal)) {
        const verdict = fault ?? (by === 'size' ? 'has the right size; no hash is known' : `has the right ${HASH[by]}`)
        process.stdout.write(`${fault ? 'BAD ' : 'ok  '}${name}  ${file}  ${verdict}\n`)
        if (fault) bad++
      }
    } catch (error) {
      bad++
      process.stdout.write(`BAD ${name}  ${reasonOf(error)}\n`)
    }
  }
  if (bad > 0) throw new Fault(`${bad} of these did not pass the check.`, 1)
}

const HASH = { sha256: 'SHA-256', md5: 'MD5' } as const

function placeOf(name: string): ModelLocation {
  try {
    return locationOf(fromOf(name))
  } catch (error) {
    throw new Fault(error instanceof Error ? error.message : String(error))
  }
}

/** Those that were named, or every model on this machine, as `models list` has them. */
async function namedOrAll(names: readonly string[], options: CacheOptions): Promise<readonly string[]> {
  if (names.length > 0) return names
  const all = [...((await embeddedRow()) ? [NANO] : []), ...(await everything(options))]
  if (all.length === 0) note('No model is on this machine: name one, or see local-v1 models catalog.')
  return all
}

/** Every model on this machine but the embedded one. */
async function everything(options: CacheOptions): Promise<string[]> {
  const root = hubFolder(options)
  const names: string[] = []
  for (const owner of await namesIn(root)) {
    for (const name of await namesIn(join(root, owner))) {
      for (const file of await modelsIn(join(root, owner, name, 'resolve', 'main')))
        names.push(file === undefined ? `${owner}/${name}` : `${owner}/${name}/${file}`)
    }
  }
  return [...names, ...(await listForeign()).map(({ name }) => name)]
}

export interface HereModel {
  /** As `--model` takes it. */
  readonly name: string
  readonly bytes?: number
}

/** Every model on this machine, but those of which a part is missing. */
export async function modelsHere(options: CacheOptions): Promise<HereModel[]> {
  const rows = new Map((await rowsOf(options)).map((row) => [row.id, row]))
  const of = (name: string) => rows.get(name) ?? rows.get(name.split('/').slice(0, 2).join('/'))
  return (await everything(options))
    .filter((name) => of(name)?.state !== 'incomplete' && !of(name)?.state.includes(';'))
    .map((name) => ({ name, ...(rows.get(name)?.bytes !== undefined && { bytes: rows.get(name)!.bytes! }) }))
}

export async function pull(id: string, { cache }: CacheOptions): Promise<void> {
  const place = placeOf(id)
  if (place.kind !== 'hub') throw new Fault(`"${id}" is not a model of Hugging Face. Only those can be pulled.`)
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Fault('Stopped; the next pull continues from here.', 130)))
  const { report, stop } = progressReporter()
  note(paint('dim', `Looking for ${id} at ${HUB}.`))
  try {
    const { signal } = interrupt
    await openRepository(place, { report: (state) => report({ model: id, ...state }), signal, cache })
  } finally {
    stop()
  }
  note(`${id} is downloaded. Serve it with: local-v1 serve --model ${id}`)
}

export async function remove(id: string, options: CacheOptions): Promise<void> {
  checkId(id)
  const folder = join(hubFolder(options), id)
  const size = await sizeOf(folder).catch(() => undefined)
  if (!size) throw new Fault(`${id} is not on this machine; local-v1 models list shows the models that are.`, 1)
  await rm(folder, { recursive: true })
  note(`${id} is removed: ${megabytes(size.bytes)} are free again.`)
}

/** Of what was downloaded here the least recently used, until so many bytes are free again. */
export async function removeLeastUsed(bytes: number, options: CacheOptions): Promise<void> {
  const removed = await freeStorage(bytes, options)
  for (const { name, bytes, usedAt } of removed) {
    const used = usedAt ? `, last used ${usedAt.toISOString().slice(0, 10)}` : ''
    note(`${name} is removed: ${megabytes(bytes)} are free again${used}.`)
  }
  const freed = removed.reduce((sum, { bytes }) => sum + bytes, 0)
  if (freed < bytes) throw new Fault(`Only ${megabytes(freed)} are used by models that were downloaded here.`, 1)
}

function checkId(id: string): void {
  if (id === NANO) throw new Fault(`${id} comes with the package local-v1-nano: remove that.`)
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
