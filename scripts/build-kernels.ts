/**
 * Compiles the CPU device's kernels from AssemblyScript and writes them as a module, `kernels.generated.ts`: text, so
 * that every bundler and runtime carries them along, and never older than its sources, because it is not in git.
 * `npm run build:kernels`; `npm install` and `npm test` run it too. It takes two seconds, and none when nothing changed.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'
import { assemblyModule, CONSTANTS, definedModule, folderOf, writersModule } from '../src/device/cpu/abi.js'
import { OPERATIONS } from '../src/device/operations/index.js'

const folder = fileURLToPath(new URL('../src/device/', import.meta.url))
const sources = 'cpu/assembly/'
/** What both sides agree on; these modules of `assembly/` have no files of their own. */
const WRITTEN: ReadonlyMap<string, () => string> = new Map([
  [`${sources}abi.ts`, assemblyModule],
  [`${sources}defined.ts`, definedModule],
])
const output = `${folder}cpu/kernels.generated.ts`

const FLAGS = [
  ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--noAssert', '--runtime', 'stub'],
  ...['--enable', 'simd', '--enable', 'threads', '--importMemory', '--sharedMemory', '--noExportMemory'],
  ...['--initialMemory', '1', '--maximumMemory', '65536', '--zeroFilledMemory', '--disableWarning', '112'],
  ...['--memoryBase', String(CONSTANTS)],
]

/**
 * One build. `relaxed` may use the relaxed SIMD instructions, which multiply bytes four at a time. `index`: what stands
 * in place of `assembly/index.ts`, for tests.
 */
export async function compileKernels(relaxed: boolean, index?: string): Promise<Uint8Array> {
  let binary: Uint8Array | undefined
  const extra = relaxed ? ['--enable', 'relaxed-simd'] : []
  const { error, stderr } = await asc.main([`${sources}index.ts`, '--outFile', 'kernels.wasm', ...FLAGS, ...extra], {
    readFile: (name, base) => {
      const path = `${base === '.' ? '' : `${base}/`}${name}`
      const written = WRITTEN.get(path)
      if (written) return written()
      if (path === `${sources}index.ts` && index !== undefined) return index
      return existsSync(folder + path) ? readFileSync(folder + path, 'utf8') : null
    },
    writeFile: (_name, contents) => {
      binary = contents as Uint8Array
    },
    listFiles: () => [],
  })
  if (error || !binary) throw new Error(`The kernels do not compile: ${error?.message ?? ''}\n${stderr.toString()}`)
  return binary
}

/**
 * Where the imported memory's flags stand. Set, the module takes shared memory; `wasm.ts` clears the bit for hosts
 * without it, so that one build serves both.
 */
export function sharedFlagOffset(binary: Uint8Array): number {
  const name = new TextEncoder().encode('\x03env\x06memory\x02\x03')
  const at = binary.findIndex((_, i) => name.every((byte, j) => binary[i + j] === byte))
  if (at < 0) throw new Error('The kernels do not import a shared memory as env.memory.')
  return at + name.length - 1
}

/** What the output hangs on. Times of files say nothing where a checkout or a copy has set them anew. */
function hashOfSources(): string {
  const files = [
    ...readdirSync(folder + sources).map((name) => folder + sources + name),
    ...Object.keys(OPERATIONS)
      .map((name) => `${folder}operations/${folderOf(name)}/assembly.ts`)
      .filter(existsSync),
    fileURLToPath(import.meta.url),
  ]
  const hash = createHash('sha256')
  for (const file of files.sort()) hash.update(readFileSync(file))
  hash.update(assemblyModule()).update(definedModule()).update(writersModule())
  return hash.digest('hex').slice(0, 12)
}

function isFresh(hash: string): boolean {
  return existsSync(output) && readFileSync(output, 'utf8').includes(`SOURCES_HASH = '${hash}'`)
}

function literal(name: string, binary: Uint8Array): string {
  return `export const ${name} =\n  '${Buffer.from(binary).toString('base64')}'\n`
}

async function main(): Promise<void> {
  const sourcesHash = hashOfSources()
  if (isFresh(sourcesHash)) return
  const simd = await compileKernels(false)
  const relaxed = await compileKernels(true)
  const text = [
    '/** Written by scripts/build-kernels.ts from assembly/. */\n',
    literal('SIMD', simd),
    literal('RELAXED', relaxed),
    `export const KERNELS_HASH = '${createHash('sha256').update(simd).digest('hex').slice(0, 12)}'\n`,
    `export const SOURCES_HASH = '${sourcesHash}'\n`,
    writersModule(),
    `export const SHARED_FLAG = { simd: ${sharedFlagOffset(simd)}, relaxed: ${sharedFlagOffset(relaxed)} }\n`,
  ]
  writeFileSync(output, text.join(''))
  process.stdout.write(`kernels: simd ${simd.length} bytes, relaxed simd ${relaxed.length} bytes\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
