/** Heads of models that decide, damaged by chance: GGUF files of each kind, and a folder as Laya's makers publish it. */
import { truncateSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type MadeUp, writeMade } from '../../src/engines/webgpu/made.test-helper.js'
import { made as clef } from '../../src/models/encoders/clef.test-helper.js'
import { made as d1Omni } from '../../src/models/encoders/d1-omni.test-helper.js'
import { laya, writeLaya } from '../../test/oracles/encoders/laya.js'
import { encoderWeights } from '../../test/oracles/encoders/source.js'
import { llama } from '../../test/oracles/families/llama.js'
import { writeGguf } from '../../test/oracles/files/gguf.js'
import { below, type DamagedModel, damagedBytes, type Make, otherwise, pick, type Random, scratched } from './damage.js'

export const DECIDING = ['decisions in GGUF', 'decisions in a folder'] as const

/** `folder`: an empty one, of whoever calls. */
export async function damagedDeciders(folder: string): Promise<Readonly<Record<(typeof DECIDING)[number], Make>>> {
  return {
    'decisions in GGUF': await damagedFiles(folder),
    'decisions in a folder': await damagedFolder(join(folder, 'laya')),
  }
}

const TEMPLATE =
  '<s>{{ state }} {{ instructions }}{% for o in options %} {{ o.label }}. {{ o.key }}{% if o.description %}: {{ o.description }}{% endif %}{% endfor %}</s>'
const POINTED =
  '<|fim_prefix|>{{ state }}{{ instructions }}{% for o in options %}{{ o.key }}<|box_end|>{% endfor %}<|fim_suffix|>'

/** By labels, by a head of its own, and by marks. */
function kinds(): readonly MadeUp[] {
  const hidden = Number(llama.config.hidden_size)
  const lev: MadeUp = {
    ...{ of: llama, type: 'lev', template: TEMPLATE, texts: [TEMPLATE, 'A. B. C. D. E. F. G. H. I.'] },
    metadata: (out) => out.float('llama.decision.temperature.choice.small', 1.5),
  }
  const kev: MadeUp = {
    ...{ of: llama, type: 'kev', template: POINTED, texts: [POINTED], controls: ['<|box_end|>'] },
    metadata: (out) => out.u32('llama.embedding_length_out', 32),
    tensors: [
      { name: 'cls.output.weight', dims: [hidden, 32], values: new Float64Array(32 * hidden) },
      { name: 'cls.output.bias', dims: [32], values: new Float64Array(32) },
    ],
  }
  return [lev, kev, d1Omni(), clef()]
}

async function damagedFiles(folder: string): Promise<Make> {
  const path = join(folder, 'whole.gguf')
  const makes: Make[] = []
  for (const made of kinds()) {
    await writeMade(path, made)
    makes.push(damagedFile(made.type, await readFile(path)))
  }
  await writeGguf(path, laya, encoderWeights(laya))
  makes.push(damagedFile('laya', await readFile(path)))
  return (random) => pick(random, makes)(random)
}

/** Half of the damage is where it speaks of decisions. */
function damagedFile(type: string, whole: Buffer): Make {
  const near: number[] = []
  for (const word of ['decision.', 'systemone', 'embedding_length', 'block_count'])
    for (let at = whole.indexOf(word); at >= 0; at = whole.indexOf(word, at + 1)) near.push(at)
  // The names of tensors are the last of it.
  const names = /(\.weight|\.bias)/
  const text = whole.toString('latin1')
  let head = text.search(names)
  for (let next = head; next >= 0 && next - head < 400; ) {
    head = next
    const further = text.slice(head + 5, head + 405).search(names)
    next = further < 0 ? -1 : head + 5 + further
  }
  head += 60
  const rest = new Blob([new Uint8Array(whole.subarray(head))])
  const first = text.search(names) - 60
  const place = (random: Random) => {
    const where = random()
    if (where < 0.5) return Math.max(0, pick(random, near) - 20 + below(random, 60))
    if (where < 0.7) return below(random, 800)
    return first + below(random, head - first)
  }
  return (random) => {
    const { damaged, what } = damagedBytes(Uint8Array.from(whole.subarray(0, head)), random, place)
    const parts = what.startsWith('cut') ? [damaged] : [damaged, rest]
    return { what: `${type}: ${what}`, overlaps: false, files: new Map([['model.gguf', new Blob(parts)]]) }
  }
}

const TEXTS = [
  'rl_agent_config.json',
  'encoder/config.json',
  'tokenizer/tokenizer.json',
  'tokenizer/tokenizer_config.json',
]
const WEIGHTS = 'model.safetensors'

async function damagedFolder(folder: string): Promise<Make> {
  await writeLaya(folder)
  const texts = new Map<string, string>()
  for (const name of TEXTS) texts.set(name, await readFile(join(folder, name), 'utf8'))
  const stored = await readFile(join(folder, WEIGHTS))
  const length = Number(stored.readBigUInt64LE(0))
  texts.set(WEIGHTS, stored.toString('utf8', 8, 8 + length))
  const data = stored.length - 8 - length
  const put = (name: string, text: string) => {
    const path = join(folder, name)
    if (name !== WEIGHTS) {
      writeFileSync(path, text)
      return
    }
    const json = Buffer.from(text)
    const head = Buffer.alloc(8)
    head.writeBigUInt64LE(BigInt(json.length))
    writeFileSync(path, Buffer.concat([head, json]))
    truncateSync(path, 8 + json.length + data)
  }
  let damaged: string | undefined
  return (random) => {
    if (damaged !== undefined) put(damaged, texts.get(damaged)!)
    // What is said of the head is short: it is damaged as often as all else together.
    const name = random() < 0.4 ? TEXTS[0]! : pick(random, [...texts.keys()])
    const text = texts.get(name)!
    damaged = name
    const model = (what: string, changed: string): DamagedModel => {
      put(name, changed)
      return { what: `${name}: ${what}`, overlaps: false, files: folder }
    }
    if (random() < 0.3) return model('scratched', scratched(text, random))
    const { value, where } = otherwise(JSON.parse(text), random)
    return model(where, JSON.stringify(value))
  }
}
