/** A device that tells which operation is being recorded, and how long recording and waiting take. */
import type { Batch, Device, Matrix, Pass, ProjectOptions } from '../../src/device/contract.js'
import type { ArgumentKinds, Operation as DeviceOperation } from '../../src/device/operations/define.js'
import type { PassOperation } from '../../src/device/operations/index.js'
import type { Current, Operation, Timer } from './operation.js'

/** Milliseconds of one pass, as the caller sees it. */
export interface Seen {
  /** Until all operations were asked for. */
  readonly recording: number
  /** In `submit`, until it returned: the CPU device computes here. */
  readonly submitting: number
  /** Until its result was there. */
  readonly waiting: number
}

export function watch(device: Device, current: Current, timer: Timer, seen: (pass: Seen) => void): Device {
  return {
    info: device.info,
    limits: device.limits,
    get memory() {
      return device.memory
    },
    lost: device.lost,
    matrix: (data, options) => device.matrix(data, options),
    growingMatrix: (bands, options) => device.growingMatrix(bands, options),
    matrixBytes: (shape) => device.matrixBytes(shape),
    vector: (values) => device.vector(values),
    activations: (rows, columns) => device.activations(rows, columns),
    routing: (shape) => device.routing(shape),
    cache: (shape) => device.cache(shape),
    states: (shape) => device.states(shape),
    sampler: (shape) => device.sampler(shape),
    begin(batch) {
      timer.begin()
      const start = performance.now()
      return watchPass(device.begin(batch), batch, current, start, seen)
    },
    idle: () => device.idle(),
    destroy: () => device.destroy(),
  }
}

type About = { readonly [N in PassOperation]: (...operands: Parameters<Pass[N]>) => Partial<Operation> }

/** What each operation of a pass is called, and what it costs; one of a folder by its own name. */
function aboutOf(pass: Pass, { sampler, spans }: Batch): About {
  const count = (rows = pass.rows) => rows
  // Gates come before the second product that is added.
  let gates = false
  const nameOf = ({ rows }: Matrix, { gated, add }: ProjectOptions) => {
    if (gated) return 'gate and up'
    if (add) return gates ? 'down' : 'attention out'
    return rows === sampler?.shape.vocabulary ? 'logits' : 'queries, keys, values'
  }
  return {
    project(matrix, _x, _out, options = {}) {
      const multiplications = matrix.rows * matrix.columns * count(options.rows)
      const operation = { name: nameOf(matrix, options), weights: matrix.bytes, multiplications }
      gates = options.gated === true
      return operation
    },
    place: () => ({ name: 'place' }),
    attend(_qkv, cache, _layer, _out, shape) {
      const { heads, headSize, type } = cache.shape
      const positions = spans.reduce((sum, { tokens, position }) => sum + position + tokens.length, 0)
      const bytes = positions * 2 * heads * headSize * (type === 'f16' ? 2 : 4)
      // A query multiplies with a key, then its weight with a value; a prompt's later tokens see more than earlier ones.
      const pairs = spans.reduce((sum, { tokens: { length }, position }) => {
        return sum + length * position + (length * (length + 1)) / 2
      }, 0)
      return { name: 'attention', cache: bytes, multiplications: pairs * 2 * shape.heads * headSize }
    },
    sample: (sampler, _logits, rows) => ({ name: 'sample', logits: rows.length * sampler.shape.tokens * 4 }),
  }
}

type Defined = Pick<DeviceOperation<ArgumentKinds, unknown[]>, 'name' | 'cost'>
const toldOf = (rows: number, { name, cost }: Defined, ...operands: unknown[]): Partial<Operation> => ({
  name,
  ...cost?.(rows, ...operands),
})

function watchPass(pass: Pass, batch: Batch, current: Current, start: number, seen: (pass: Seen) => void): Pass {
  const about = new Map<string | symbol, (...operands: never[]) => Partial<Operation>>(
    Object.entries(aboutOf(pass, batch)),
  )
  // What the CPU device does not compute before it is submitted.
  let sampling: Partial<Operation> = {}
  const submit = async () => {
    const recorded = performance.now()
    const result = current.during(sampling, () => pass.submit())
    const submitted = performance.now()
    const rows = await result
    const waiting = performance.now() - submitted
    seen({ recording: recorded - start, submitting: submitted - recorded, waiting })
    return rows
  }
  return new Proxy(pass, {
    get(target, name) {
      if (name === 'submit') return submit
      const value = Reflect.get(target, name, target) as unknown
      if (typeof value !== 'function') return value
      return (...operands: never[]) => {
        const run = () => value.apply(target, operands)
        const told =
          name === 'run'
            ? toldOf(target.rows, ...(operands as unknown as [Defined, ...unknown[]]))
            : about.get(name)?.(...operands)
        if (!told) return run()
        if (name === 'sample') sampling = told
        return current.during(told, run)
      }
    },
  })
}
