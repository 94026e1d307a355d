import { randomBytes } from 'node:crypto'
import { access, constants, mkdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import process from 'node:process'
import { express } from '../../adapters/express.js'
import type { ModelInfo } from '../contract/index.js'
import { claimedResponses, createV1, memoryResponses, messages, ollama, type V1Options } from '../service/index.js'
import { fileUsage, type UsageLedger } from '../usage/index.js'
import { openEngine } from './engine.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { withPlayground } from './playground.js'
import { pageModels } from './playground-models.js'
import { type KeyOptions, serveKeys } from './serve-keys.js'
import { serveLog } from './serve-log.js'
import { claimFolder } from './sole.js'
import { stopOnSignal } from './stop.js'
import { note, paint, progressReporter } from './terminal.js'

export interface ServerOptions extends EngineOptions, KeyOptions {
  readonly port?: number
  readonly host: string
  readonly cors?: readonly string[]
  readonly allowHost?: readonly string[]
  /** Other names of models. */
  readonly alias?: Readonly<Record<string, string>>
  readonly usageFile?: string
  /** The folder in which responses are kept; true: memory, as long as the process runs; false: only where a request asks. */
  readonly responses: string | boolean
  readonly maxInFlight: number
  readonly queue: number
  /** Seconds; 0 for no limit. */
  readonly timeout: number
  readonly stall: number
  /** Seconds that running answers may still take after a signal. */
  readonly grace: number
  /** Decisions by fitted temperatures, where a request does not say. */
  readonly calibrated?: boolean
  /** Ollama's interface too, at its port where none is said. */
  readonly ollama?: boolean
  /** Whether `/` shows the playground. */
  readonly playground: boolean
}

/** Ours, and Ollama's. */
const PORT = 8080
const OLLAMA_PORT = 11434

/** A client that works for some seconds between two requests finds its connection as it left it. */
const KEEP_ALIVE_MS = 75_000

/** Serves until a signal comes, or what started it has ended. */
export async function serveCommand(options: ServerOptions): Promise<void> {
  const keys = serveKeys(options)
  if (keys.length === 0 && !isLoopback(options.host)) {
    throw new Fault(
      `Without a key only this machine may send requests: set LOCAL_V1_KEY or --key-file, or remove --host ${options.host}.`,
    )
  }
  const pageKey = pageKeyFor(options, keys)
  const hosts = options.allowHost && [...options.allowHost, 'localhost', '127.0.0.1', '[::1]']
  const usage = await ledgerIn(options.usageFile)
  const { engine, own, models } = await openEngine(options)
  checkAliases(options.alias, models)
  const v1 = createV1({
    engine,
    keys: keys.length > 0 ? [...keys, ...(pageKey ? [pageKey] : [])] : 'none',
    maxInFlight: options.maxInFlight,
    maxQueue: options.queue,
    timeoutMs: milliseconds(options.timeout),
    stallMs: milliseconds(options.stall),
    log: serveLog(),
    calibrated: options.calibrated ?? false,
    endpoints: [messages(), ...(options.ollama ? [ollama()] : [])],
    // As Ollama does: whoever may ask without a key may unload and remove models, too.
    manageModels: options.ollama === true && keys.length === 0,
    aliases: options.alias ?? {},
    ...(await keptIn(options.responses)),
    ...(hosts && { hosts }),
    ...(options.cors && { cors: options.cors }),
    ...(usage && { usage }),
  })
  const service = express(v1)
  const { upstream } = options
  // Where keys are asked for, models are added with the page's own alone.
  const adds = own && (keys.length === 0 || pageKey)
  const page = adds && pageModels({ engine: own, v1, device: options.device, cache: options.cache, key: pageKey?.key })
  const server = createServer(options.playground ? withPlayground(service, { hosts, upstream, models: page }) : service)
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const url = await listen(server, options)
  note(`local-v1 listens on ${url} and loads ${models[0]}.`)
  const ending = stopOnSignal(server, v1, options.grace * 1000)
  // The first request should not be the one that waits; it waits for this same load if it comes sooner.
  const progress = progressReporter()
  try {
    await v1.load(models[0]!, progress.report)
  } catch (error) {
    // The signal has ended the load too.
    if (ending.begun) return ending.done
    // Whatever waits for this model has been told the same; a server that can answer nothing does not stay.
    server.close()
    await v1.close()
    server.closeAllConnections()
    throw error
  } finally {
    progress.stop()
  }
  announce(url, keys, models, engine.models.find(({ id }) => id === models[0])!)
  if (options.playground) announcePage(url, keys, pageKey?.key)
}

/**
 * A key for the page of this run alone, where keys are asked for: the printed link carries it in its fragment, which no
 * browser sends. Only a terminal is shown it, since other output is kept; there the page asks for a key.
 */
function pageKeyFor({ playground }: ServerOptions, keys: readonly string[]): { key: string; id: string } | undefined {
  if (!playground || keys.length === 0 || !process.stderr.isTTY) return undefined
  return { key: randomBytes(24).toString('base64url'), id: 'playground' }
}

/** What stands for nothing would be told with the first request. */
function checkAliases(alias: ServerOptions['alias'] = {}, models: readonly string[]): void {
  for (const [name, id] of Object.entries(alias)) {
    if (models.includes(id)) continue
    throw new Fault(`--alias ${name}=${id}: there is no model "${id}" here, but ${models.join(', ')}.`)
  }
}

async function ledgerIn(file: string | undefined): Promise<UsageLedger | undefined> {
  const ledger = file === undefined ? undefined : fileUsage(file)
  try {
    await ledger?.open?.()
  } catch (error) {
    throw new Fault(`The usage file ${file} cannot be written: ${(error as Error).message}`, 1)
  }
  return ledger
}

/** Clients go on from a response that they never asked to be kept, as OpenAI keeps it. */
async function keptIn(place: ServerOptions['responses']): Promise<Pick<V1Options, 'responses'>> {
  if (place === false) return {}
  if (place === true) return { responses: memoryResponses() }
  try {
    await mkdir(place, { recursive: true, mode: 0o700 })
    await access(place, constants.W_OK)
  } catch (error) {
    throw new Fault(`The folder ${place} of --responses cannot be written: ${(error as Error).message}`, 1)
  }
  return { responses: claimedResponses(place, await claimFolder(place)) }
}

function milliseconds(seconds: number): number {
  return seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/**
 * Connections that the system holds until we take them, up to its own limit. Node asks for 511: of a thousand that come
 * at once the rest would be dropped, and whoever else comes then is not heard for a second.
 */
const BACKLOG = 4096

function listen(server: Server, { host, ollama, port = ollama ? OLLAMA_PORT : PORT }: ServerOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenFault(error, port, host)))
    server.listen({ port, host, backlog: BACKLOG }, () => {
      const { port, family, address } = server.address() as AddressInfo
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}/v1`)
    })
  })
}

function listenFault(error: NodeJS.ErrnoException, port: number, host: string): unknown {
  if (error.code === 'EADDRINUSE')
    return new Fault(`Port ${port} is taken; choose another with --port (0 takes a free one).`, 1)
  if (error.code === 'EACCES')
    return new Fault(`Port ${port} needs more rights than this user has; try --port 8080.`, 1)
  if (error.code === 'EADDRNOTAVAIL')
    return new Fault(`${host} is not an address of this machine: choose another with --host.`)
  return error
}

function deviceOf({ metadata }: ModelInfo): string {
  return `${metadata?.device ?? 'unknown'} (${metadata?.device_name ?? ''})`
}

function announcePage(url: string, keys: readonly string[], key: string | undefined): void {
  const page = url.replace(/v1$/, '')
  const how = key === undefined ? (keys.length > 0 ? ', which asks for a key' : '') : ` ${paint('dim', '(this run)')}`
  row('page', paint('cyan', key === undefined ? page : `${page}#key=${key}`) + how)
}

const row = (name: string, value: string) => note(`  ${paint('dim', name.padEnd(7))} ${value}`)

function announce(url: string, keys: readonly string[], models: readonly string[], first: ModelInfo): void {
  note(paint('bold', 'local-v1 is ready'))
  row('url', paint('cyan', url))
  row('key', keys.length > 0 ? `one of the ${keys.length} given` : 'none is needed on this machine')
  row('model', models.join(', '))
  row('device', deviceOf(first))
  row('try', curl(url, keys, first))
}

function curl(url: string, keys: readonly string[], { id: model, capabilities }: ModelInfo): string {
  const auth = keys.length > 0 ? ` -H 'authorization: Bearer '"$KEY"` : ''
  const [path, example] = capabilities?.embeddings
    ? ['embeddings', { input: 'Hello!' }]
    : capabilities?.rerank
      ? ['rerank', { query: 'Hello?', documents: ['Hello!', 'Goodbye.'] }]
      : capabilities?.decisions && capabilities.chat === false
        ? ['decisions', { input: 'Hello!', questions: [{ type: 'predicate', instructions: 'It is a greeting.' }] }]
        : ['chat/completions', { messages: [{ role: 'user', content: 'Hello!' }] }]
  const body = JSON.stringify({ model, ...example })
  return `curl ${url}/${path}${auth} -H 'content-type: application/json' -d '${body}'`
}
