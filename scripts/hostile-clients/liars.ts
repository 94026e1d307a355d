/**
 * Repositories that lie, on a server of this machine. What they name elsewhere is on another address of it, which hears of
 * everybody who comes; and nothing is asked of either that lies beside the repositories.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'

type Json = Record<string, unknown>
type Answer = (response: ServerResponse, request: IncomingMessage) => void

const PIECE = Buffer.alloc(1 << 20, 0x20)
const GGUF = 'model.gguf'
const DRIP_MS = 100

const bytes =
  (body: Uint8Array): Answer =>
  (response, request) => {
    // A head alone is asked for by its range.
    const range = request.headers.range?.match(/^bytes=(\d+)-(\d+)$/)
    if (!range) return void response.setHeader('content-length', body.length).end(body)
    const [from, to] = [Number(range[1]), Math.min(Number(range[2]) + 1, body.length)]
    response.writeHead(206, { 'content-range': `bytes ${from}-${to - 1}/${body.length}`, 'content-length': to - from })
    response.end(body.subarray(from, to))
  }

const endless: Answer = (response) => {
  const pour = () => {
    while (!response.destroyed && response.write(PIECE));
  }
  response.on('drain', pour)
  pour()
}

const dripping: Answer = (response) => {
  response.writeHead(200, { 'content-length': 1 << 20 })
  const timer = setInterval(() => response.write(' '), DRIP_MS)
  response.once('close', () => clearInterval(timer))
}

/** A gigabyte of blanks in a megabyte. */
const packed = gzipSync(Buffer.alloc(1 << 30, 0x20))
const inflating: Answer = (response) => {
  response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length })
  response.end(packed)
}

const sending =
  (to: string): Answer =>
  (response) =>
    void response.writeHead(302, { location: to }).end()

/** Says that it has so many bytes, and has what an honest one has. */
const boasting =
  (body: Uint8Array, total: number): Answer =>
  (response) => {
    response.writeHead(206, { 'content-range': `bytes 0-${body.length - 1}/${total}`, 'content-length': body.length })
    response.end(body)
  }

export class Liars {
  /** Where each repository lies, to be served by its address. */
  readonly addresses: readonly string[]
  /** What was asked for that no repository has within it, and what was asked elsewhere. */
  readonly strays: readonly string[]
  readonly #servers: readonly Server[]

  private constructor(servers: readonly Server[], addresses: readonly string[], strays: readonly string[]) {
    this.#servers = servers
    this.addresses = addresses
    this.strays = strays
  }

  static async start(folder: string): Promise<Liars> {
    const strays: string[] = []
    const elsewhere = await listening('127.0.0.2', (response, request) => {
      strays.push(`elsewhere: ${request.url}`)
      bytes(Buffer.from('{}'))(response, request)
    })
    const repositories = await lies(folder, `http://127.0.0.2:${portOf(elsewhere)}`)
    const here = await listening('127.0.0.1', (response, request) => {
      const [, owner, name, ...rest] = request.url!.split('/')
      const repository = owner === 'o' ? repositories.get(name!) : undefined
      const file = rest.join('/')
      if (!repository || !/^[\w.-]+$/.test(file)) strays.push(request.url!)
      const answer = repository?.(file)
      if (answer) answer(response, request)
      else response.writeHead(404).end()
    })
    const base = `http://127.0.0.1:${portOf(here)}/o`
    const addresses = [...repositories.keys()].map(
      (name) => `${base}/${name}${name.startsWith('gguf-') ? `/${GGUF}` : ''}`,
    )
    return new Liars([elsewhere, here], addresses, strays)
  }

  stop(): void {
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

async function listening(host: string, answer: Answer): Promise<Server> {
  const server = createServer((request, response) => {
    response.on('error', () => {})
    answer(response, request)
  }).listen(0, host)
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return server
}

/** By their names; each has its files by theirs. */
async function lies(folder: string, elsewhere: string) {
  const { files } = tinyRepository()
  const honest = (file: string): Answer | undefined => {
    const found = files.get(file)
    return found && bytes(found)
  }
  const but = (changed: Readonly<Record<string, Answer>>) => (file: string) => changed[file] ?? honest(file)
  const changed = (file: string, change: (json: Json) => unknown) => {
    const json = JSON.parse(new TextDecoder().decode(files.get(file))) as Json
    return bytes(Buffer.from(JSON.stringify(change(json))))
  }
  const manifest = (change: (record: Json) => object) => {
    const answer = changed('tensor-cache.json', (json) => ({
      ...json,
      records: (json.records as Json[]).map((record) => ({ ...record, ...change(record) })),
    }))
    return but({ 'tensor-cache.json': answer, 'ndarray-cache.json': answer })
  }
  const named = (dataPath: string) => manifest(() => ({ dataPath }))
  const path = join(folder, 'made-up.gguf')
  await writeMadeUp(path, { types: {} })
  const whole = await readFile(path)
  const count = whole.indexOf('llama.block_count') + 'llama.block_count'.length + 4
  const gguf = (change: (bytes: Buffer) => void): Uint8Array => {
    const copy = Buffer.from(whole)
    change(copy)
    return copy
  }
  const head = (change: (bytes: Buffer) => void) => (file: string) => (file === GGUF ? bytes(gguf(change)) : undefined)
  return new Map<string, (file: string) => Answer | undefined>([
    ['endless-tokenizer', but({ 'tokenizer.json': endless })],
    ['endless-configuration', but({ 'mlc-chat-config.json': endless })],
    ['endless-weights', but({ 'params_shard_0.bin': endless })],
    ['packed', but({ 'tokenizer.json': inflating })],
    ['passwords', named('../../etc/passwd')],
    ['passwords-in-code', named('%2e%2e/%2e%2e/etc/passwd')],
    ['passwords-from-the-root', named('/etc/passwd')],
    ['other-host', named(`${elsewhere}/weights.bin`)],
    ['other-host-without-a-scheme', named(elsewhere.replace('http:', ''))],
    [
      'tokenizer-elsewhere',
      but({
        'mlc-chat-config.json': changed('mlc-chat-config.json', (json) => ({
          ...json,
          tokenizer_files: [`${elsewhere}/tokenizer.json`, '../../../etc/passwd'],
        })),
        'tokenizer.json': sending(`${elsewhere}/tokenizer.json`),
      }),
    ],
    ['redirects', () => sending(`${elsewhere}/file`)],
    ['redirects-of-weights', but({ 'params_shard_0.bin': sending(`${elsewhere}/weights.bin`) })],
    ['redirects-without-end', (file) => sending(`/o/redirects-without-end/${file}`)],
    ['drip', but({ 'mlc-chat-config.json': dripping })],
    ['drip-of-weights', but({ 'params_shard_0.bin': dripping })],
    ['huge-weights', manifest(() => ({ nbytes: 2 ** 50 }))],
    ['gguf-damaged', head((copy) => copy.fill(0xff, 8, 400))],
    ['gguf-of-many-blocks', head((copy) => copy.writeUInt32LE(40_000_000, count))],
    ['gguf-of-many-fields', head((copy) => copy.writeBigUInt64LE(2n ** 62n, 16))],
    ['gguf-of-many-tensors', head((copy) => copy.writeBigUInt64LE(2n ** 40n, 8))],
    ['gguf-that-boasts', (file) => (file === GGUF ? boasting(whole.subarray(0, 64), 2 ** 50) : undefined)],
  ])
}
