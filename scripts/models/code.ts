/** Which code a row of the check speaks of: whoever changes what it was computed by has to compute it again. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

const oracles = (...names: string[]) => names.map((name) => `test/oracles/${name}`)
const checks = (...names: string[]) => names.map((name) => `scripts/models/${name}`)
const device = (...names: string[]) => names.map((name) => `src/device/${name}`)
/** How models run: what lies in the folder itself, and the blocks of their layers. */
const MODELS = [
  'src/models/blocks',
  ...readdirSync(`${root}src/models`)
    .filter((name) => name.endsWith('.ts') && !['index.ts', 'catalog.ts'].includes(name))
    .map((name) => `src/models/${name}`),
]

const BOTH = [
  ...oracles('family.ts', 'files/gguf.ts', 'float64.ts', 'random.ts', 'width.ts'),
  ...checks('llama-cpp.ts'),
]
const DECODERS = [
  ...BOTH,
  ...oracles('families', 'judge.ts', 'rounded.ts', 'weights.ts'),
  ...checks('check-definition.ts'),
]
const ENCODERS = [...BOTH, ...oracles('encoders', 'rounded.ts'), ...checks('check-marked.ts', 'check-vectors.ts')]
const CORE = [...device('contract', 'contract.ts', 'operations', 'sampling.ts'), ...MODELS]
const OURS = [
  ...[...DECODERS, ...CORE],
  ...oracles('files/mlx.ts', 'files/safetensors.ts'),
  ...checks('feeds.ts', 'our-core.ts'),
]
const DECISIONS = [...OURS, ...checks('check-decisions.ts'), 'src/generate/decide', 'src/generate/run']
/** From the request to llama.cpp: what it is called by, and what becomes of what it tells. */
const OVER_LLAMA_CPP = [
  ...DECODERS,
  ...checks('over-llama-cpp.ts', 'ties.ts'),
  ...device('sampling.ts'),
  ...['src/engines/llama-cpp', 'src/generate', 'src/service/endpoints/completions'],
]
const VECTORS = [...ENCODERS, ...CORE, 'src/models/encoders']

/**
 * A folder stands for all that is in it but tests; that of the CPU holds the kernels as they are built, too. What reads
 * configurations is left out, of which each is held by a test of its own.
 */
const PARTS = {
  decoders: DECODERS,
  'decoders on cpu': [...OURS, ...device('cpu')],
  'decoders on gpu': [...OURS, ...device('gpu')],
  'decoders over llama.cpp': OVER_LLAMA_CPP,
  'decisions on cpu': [...DECISIONS, ...device('cpu')],
  'decisions on gpu': [...DECISIONS, ...device('gpu')],
  encoders: ENCODERS,
  'encoders on cpu': [...VECTORS, ...device('cpu')],
  'encoders on gpu': [...VECTORS, ...device('gpu')],
} as const
export type Code = keyof typeof PARTS

function filesOf(path: string): string[] {
  if (!statSync(root + path).isDirectory()) return [path]
  const names = readdirSync(root + path, { recursive: true, encoding: 'utf8' })
  return names.map((name) => `${path}/${name}`).filter((name) => name.endsWith('.ts'))
}

const known = new Map<Code, string>()

export function codeOf(code: Code): string {
  const found = known.get(code)
  if (found) return found
  const hash = createHash('sha256')
  const files = PARTS[code].flatMap(filesOf).filter((file) => !/\.test(-helper)?\.ts$/.test(file))
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(root + file))
  const digest = hash.digest('hex').slice(0, 12)
  known.set(code, digest)
  return digest
}
