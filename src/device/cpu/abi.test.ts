import { beforeAll, describe, expect, it } from 'vitest'
import { compileKernels } from '../../../scripts/build-kernels.js'
import { GATED_ROOM } from '../operations/matmul/index.js'
import * as abi from './abi.js'
import { PassProgram } from './program.js'
import { compileKernels as compileShipped, instantiate } from './wasm.js'

const { HEADER_WORDS, FUNCTION_NAMES, OPERATION_WORDS, FUNCTIONS } = abi

/** For each operation a function that stores all its arguments, as the kernels' language reads them, in order. */
function readers(): string {
  return FUNCTION_NAMES.map((name) => {
    const space = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const stores = Object.keys(FUNCTIONS[name]).map(
      (field, i) => `store<f64>(out + ${i * 8}, <f64>abi.${space}.${field}(args))`,
    )
    return `export function ${name}(args: usize, out: usize): void { ${stores.join('; ')} }`
  }).join('\n')
}
const CODES = FUNCTION_NAMES.map((name) => name.toUpperCase())
const SHARED = ['F32', 'F16', 'Q4', 'BF16', 'Q4_EXACT', 'GROUP', 'Q4_BLOCK_BYTES', 'GATED_ROOM', 'MAY_SLEEP', 'SPINS']

describe('the two sides of the CPU device', () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
  let reads: Readonly<Record<string, (args: number, out: number) => void>>
  let constants: Readonly<Record<string, WebAssembly.Global>>
  beforeAll(async () => {
    const names = [...CODES, ...SHARED, 'SMALL', 'PRIVATE', 'OPERATION_BYTES']
    const index = `import * as abi from './abi'\nexport { ${names.join(', ')} } from './abi'\n${readers()}`
    const module = await WebAssembly.compile((await compileKernels(false, index)) as Uint8Array<ArrayBuffer>)
    const { exports } = await WebAssembly.instantiate(module, { env: { memory } })
    reads = exports as unknown as typeof reads
    constants = exports as unknown as typeof constants
  })

  it.each(FUNCTION_NAMES)('agree on the code of %s, and on each of its arguments', (name) => {
    const fields = Object.entries(FUNCTIONS[name])
    // A value of its own for each: pointers beyond 2 GiB, fractions where there are any.
    const values = fields.map(([, type], i) =>
      type === 'bool' ? i % 2 === 1 : type === 'f32' ? i + 0.5 : type === 'pointer' ? 0xfffffff0 - i * 16 : -1 - i,
    )
    const program = new PassProgram(1)
    program.add(name, 7, Object.fromEntries(fields.map(([field], i) => [field, values[i]!])) as never)
    const words = new Int32Array(memory.buffer)
    program.write(words, 1024)
    reads[name]!(1024 + HEADER_WORDS * 4, 2048)
    expect([...new Float64Array(memory.buffer, 2048, fields.length)]).toEqual(values.map(Number))
    expect(words[1024 / 4]).toBe(constants[name.toUpperCase()]!.value)
    expect(words[1024 / 4 + 3]).toBe(7)
  })

  it('agree on numbers', () => {
    const ours = { ...abi, GATED_ROOM } as unknown as Readonly<Record<string, number>>
    expect(Object.fromEntries(SHARED.map((name) => [name, constants[name]!.value]))).toEqual(
      Object.fromEntries(SHARED.map((name) => [name, ours[name]])),
    )
    expect(constants.OPERATION_BYTES!.value).toBe(OPERATION_WORDS * 4)
  })

  it('keep the constants of the kernels and the control block apart', async () => {
    const bytes = new Uint8Array(memory.buffer).fill(0)
    await instantiate(await compileShipped('simd', true), memory)
    const last = bytes.findLastIndex((byte) => byte !== 0)
    expect(last).toBeGreaterThanOrEqual(abi.CONSTANTS)
    expect(last).toBeLessThan(abi.CONTROL)
  })
})
