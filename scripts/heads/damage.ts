/** Heads of models, damaged by chance: of GGUF, safetensors and MLC, bytes as well as what they say. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'

export interface DamagedModel {
  readonly what: string
  /** By their names; or in a folder, until the next one is made. */
  readonly files: ReadonlyMap<string, Blob> | string
  /** Tensors share bytes or names: it must not be accepted. */
  readonly overlaps: boolean
}

export type Random = () => number

/** Numbers below one, the same for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export type Make = (random: Random) => DamagedModel

export const FORMATS = ['GGUF', 'safetensors', 'MLC'] as const

/** So many of each format; what the n-th is hangs on the seed alone. */
export async function damagedModels(): Promise<Readonly<Record<(typeof FORMATS)[number], Make>>> {
  return { GGUF: await damagedGguf(), safetensors: damagedSafetensors(), MLC: damagedMlc() }
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
export const below = (random: Random, most: number) => Math.floor(random() * most)

const LARGE = [
  0n,
  1n,
  3n,
  31n,
  255n,
  65_536n,
  40_000_000n,
  2n ** 31n - 1n,
  2n ** 32n - 1n,
  2n ** 40n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
]

async function damagedGguf(): Promise<Make> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-damaged-'))
  const path = join(folder, 'model.gguf')
  await writeMadeUp(path, { types: {}, factors: new Float32Array(32).fill(1) })
  const whole = await readFile(path)
  await rm(folder, { recursive: true })
  const last = whole.lastIndexOf('blk.1.ffn_down.weight')
  const head = last + 200
  const rest = new Blob([whole.subarray(head)])
  const first = whole.indexOf('token_embd.weight')
  /** Where a number of the head may be: most of its bytes are the vocabulary's. */
  const place = (random: Random) =>
    random() < 0.5
      ? below(random, 800)
      : random() < 0.7
        ? first - 20 + below(random, head - first)
        : below(random, head)
  /** Where a tensor has its place: after its name, sides and type. */
  const placeOf = (name: string) => {
    const at = whole.indexOf(`${name}.weight`) + name.length + 7
    return at + 4 + 8 * whole.readUInt32LE(at) + 4
  }
  const matrices = [0, 1].flatMap((i) => ['attn_q', 'attn_k', 'ffn_up', 'ffn_down'].map((name) => `blk.${i}.${name}`))
  return (random) => {
    const bytes = Uint8Array.from(whole.subarray(0, head))
    const view = new DataView(bytes.buffer)
    const model = (what: string, overlaps = false, found = bytes): DamagedModel => ({
      what,
      overlaps,
      files: new Map([['model.gguf', new Blob(what.startsWith('cut') ? [found] : [found, rest])]]),
    })
    if (random() < 0.1) {
      const [one, other] = [pick(random, matrices), pick(random, matrices)]
      if (one !== other) {
        view.setBigUint64(placeOf(one), whole.readBigUInt64LE(placeOf(other)) + BigInt(32 * below(random, 3)), true)
        return model(`${one} at the place of ${other}`, true)
      }
      const at = whole.indexOf(`${one}.weight`)
      bytes[at + 4] = bytes[at + 4] === 48 ? 49 : 48
      return model(`${one} named as in the other layer`, true)
    }
    const { damaged, what } = damagedBytes(bytes, random, place)
    return model(what, false, damaged)
  }
}

/** Some of its bytes are others, more or fewer, at these places; what was done begins with `cut` where the rest is lost. */
export function damagedBytes(
  whole: Uint8Array<ArrayBuffer>,
  random: Random,
  place: (random: Random) => number,
): { readonly damaged: Uint8Array<ArrayBuffer>; readonly what: string } {
  let bytes = whole
  const kind = pick(random, ['bit', 'byte', 'u32', 'u64', 'cut', 'insert', 'delete', 'repeat'] as const)
  const done: string[] = []
  for (let times = 1 + below(random, 3); times > 0; times--) {
    const at = Math.min(place(random), bytes.length - 9)
    const value = pick(random, LARGE)
    if (kind === 'bit') bytes[at] = bytes[at]! ^ (1 << below(random, 8))
    if (kind === 'byte') bytes[at] = below(random, 256)
    if (kind === 'u32') new DataView(bytes.buffer).setUint32(at, Number(BigInt.asUintN(32, value)), true)
    if (kind === 'u64') new DataView(bytes.buffer).setBigUint64(at, value, true)
    if (kind === 'cut') bytes = bytes.slice(0, at)
    if (kind === 'delete') bytes = joined(bytes.subarray(0, at), bytes.subarray(at + 1 + below(random, 8)))
    if (kind === 'insert')
      bytes = joined(bytes.subarray(0, at), new Uint8Array(1 + below(random, 8)), bytes.subarray(at))
    if (kind === 'repeat') bytes = joined(bytes.subarray(0, at), bytes.subarray(Math.max(0, at - 64)))
    done.push(`${kind} at ${at}${kind.startsWith('u') ? ` = ${value}` : ''}`)
    if (kind === 'cut') break
  }
  return { damaged: bytes, what: done.join(', ') }
}

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts))
}

const ODD: readonly unknown[] = [
  ...[null, true, false, -1, 0, 1, 0.5, 1e9, 2 ** 31, 2 ** 53, 1e300, '', 'x', '__proto__', '../../etc/passwd'],
  ...[[], {}, [[]], [1, 2, 3], ['a'], { a: 1 }, [[[[[[[[[[]]]]]]]]]], 'a'.repeat(5000), '(a+)+$', ' '.repeat(1000)],
  ...[{ Regex: '(a+)+$' }, { Regex: '(' }, { String: '' }, [null], [{}], { type: 'Split' }],
]

/** Some value within it is another, is there twice or is gone; where, is said. */
export function otherwise(json: unknown, random: Random): { value: unknown; where: string } {
  const copy = structuredClone(json) as Record<string, unknown>
  let at = copy
  const path: string[] = []
  for (;;) {
    const key = pick(random, Object.keys(at))
    path.push(key)
    const next = at[key]
    if (typeof next === 'object' && next !== null && Object.keys(next).length > 0 && random() < 0.85) {
      at = next as Record<string, unknown>
      continue
    }
    if (random() < 0.15) delete at[key]
    else at[key] = pick(random, ODD)
    return { value: copy, where: path.join('.').slice(0, 100) }
  }
}

/** A text with some of its signs changed. */
export function scratched(text: string, random: Random): string {
  const signs = [...text]
  for (let times = 1 + below(random, 3); times > 0; times--) {
    signs[below(random, signs.length)] = pick(random, [
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '9',
      '-',
      '\\',
      '\u0000',
      '',
      'e',
    ])
  }
  return random() < 0.2 ? signs.slice(0, below(random, signs.length)).join('') : signs.join('')
}

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

function damagedMlc(): Make {
  const { files } = tinyRepository()
  const names = ['mlc-chat-config.json', 'tensor-cache.json', 'tokenizer.json', 'tokenizer_config.json']
  return (random) => {
    const name = pick(random, names)
    const damaged = new Map([...files].map(([each, bytes]) => [each, new Blob([new Uint8Array(bytes)])]))
    const text = textOf(files.get(name)!)
    if (random() < 0.1) {
      const manifest = JSON.parse(textOf(files.get('tensor-cache.json')!))
      const { records } = manifest.records[0]
      const [one, other] = [pick(random, records), pick(random, records)] as { name: string; byteOffset: number }[]
      if (one === other) records.push(one)
      else one!.byteOffset = other!.byteOffset
      damaged.set('tensor-cache.json', new Blob([JSON.stringify(manifest)]))
      return { what: `${one!.name} at the place of ${other!.name}`, files: damaged, overlaps: true }
    }
    if (random() < 0.3) {
      damaged.set(name, new Blob([scratched(text, random)]))
      return { what: `${name}, scratched`, files: damaged, overlaps: false }
    }
    const { value, where } = otherwise(JSON.parse(text), random)
    damaged.set(name, new Blob([JSON.stringify(value)]))
    return { what: `${name}: ${where}`, files: damaged, overlaps: false }
  }
}

function damagedSafetensors(): Make {
  const { files, source } = tinyRepository()
  const { model_config: config } = JSON.parse(textOf(files.get('mlc-chat-config.json')!))
  const header: Record<string, { dtype: string; shape: readonly number[]; data_offsets: [number, number] }> = {}
  let end = 0
  const put = (name: string, ...shape: number[]) => {
    const bytes = 4 * shape.reduce((product, side) => product * side, 1)
    header[name] = { dtype: 'F32', shape, data_offsets: [end, end + bytes] }
    end += bytes
  }
  for (const name of source.names) {
    const [rows = 0, ...columns] = source.describe(name).shape
    const parts = name.includes('qkv_proj')
      ? ['q_proj', 'k_proj', 'v_proj'].map((part, i) => [part, [64, 32, 32][i]!] as const)
      : name.includes('gate_up')
        ? ([
            ['gate_proj', rows / 2],
            ['up_proj', rows / 2],
          ] as const)
        : [['', rows] as const]
    for (const [part, size] of parts)
      put(part === '' ? name : name.replace(/qkv_proj|gate_up_proj/, part), size, ...columns)
  }
  const data = new Blob([new Uint8Array(end)])
  const texts: Readonly<Record<string, string>> = {
    'config.json': JSON.stringify({ model_type: 'llama', ...config }),
    'tokenizer.json': textOf(files.get('tokenizer.json')!),
    'tokenizer_config.json': textOf(files.get('tokenizer_config.json')!),
    'model.safetensors': JSON.stringify(header),
  }
  const fileOf = (name: string, text: string) => {
    if (name !== 'model.safetensors') return new Blob([text])
    const length = new Uint8Array(8)
    const json = new TextEncoder().encode(text)
    new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
    return new Blob([length, json, data])
  }
  return (random) => {
    const damaged = new Map(Object.entries(texts).map(([name, text]) => [name, fileOf(name, text)]))
    const model = (name: string, text: string, what: string, overlaps = false) => {
      damaged.set(name, fileOf(name, text))
      return { what: `${name}: ${what}`, files: damaged, overlaps }
    }
    const names = Object.keys(header)
    if (random() < 0.1) {
      const [one, other] = [pick(random, names), pick(random, names)]
      const text = texts['model.safetensors']!
      if (one === other)
        return model(
          'model.safetensors',
          text.replace('{', `{${JSON.stringify(one)}:${JSON.stringify(header[one])},`),
          `${one} twice`,
          true,
        )
      const [from] = header[other]!.data_offsets
      const size = header[one]!.data_offsets[1] - header[one]!.data_offsets[0]
      const moved = { ...header, [one]: { ...header[one]!, data_offsets: [from, from + size] } }
      return model('model.safetensors', JSON.stringify(moved), `${one} at the place of ${other}`, true)
    }
    const name = random() < 0.4 ? 'model.safetensors' : pick(random, Object.keys(texts))
    if (random() < 0.3) return model(name, scratched(texts[name]!, random), 'scratched')
    const { value, where } = otherwise(JSON.parse(texts[name]!), random)
    return model(name, JSON.stringify(value), where)
  }
}
