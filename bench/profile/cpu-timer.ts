/** Times of the CPU device's operations, which run one by one while it is on. */
import type { OperationProfiler } from '../../src/engines/webgpu/cpu/pass-host.js'
import * as op from '../../src/engines/webgpu/cpu/program.js'
import type { Current, Operation, Timed, Timer } from './operation.js'

const KERNELS: Readonly<Record<number, string>> = {
  [op.EMBED]: 'embed',
  [op.NORM]: 'norm and round',
  [op.PREPARE]: 'round',
  [op.MATMUL]: 'product',
  [op.PLACE]: 'place',
  [op.ATTEND]: 'attend',
  [op.ACTIVATE]: 'activate and round',
  [op.COPY]: 'copy',
  [op.JOIN]: 'join',
  [op.POOL]: 'pool',
  [op.GATED]: 'product, activate and round',
}

export class CpuTimer implements Timer, OperationProfiler {
  on = false
  readonly #current: Current
  #recorded: { readonly operation: Operation; readonly code: number }[] = []
  #timed: Timed[] = []

  constructor(current: Current) {
    this.#current = current
  }

  begin(): void {
    this.#recorded = []
  }

  recorded(code: number): void {
    this.#recorded.push({ operation: this.#current.operation, code })
  }

  run<T>(index: number | 'sample', operation: () => T): T {
    const start = performance.now()
    const result = operation()
    const milliseconds = performance.now() - start
    this.#timed.push({ ...this.#describe(index), milliseconds })
    return result
  }

  #describe(index: number | 'sample'): Omit<Timed, 'milliseconds'> {
    if (index === 'sample') {
      const { name, logits } = this.#current.operation
      return { operation: name, kernel: 'sample', bytes: logits, multiplications: 0 }
    }
    const { operation, code } = this.#recorded[index]!
    const { name, weights, cache, multiplications } = operation
    const works = code === op.MATMUL || code === op.GATED || code === op.ATTEND
    return {
      operation: name,
      kernel: KERNELS[code] ?? `operation ${code}`,
      bytes: works || code === op.EMBED ? weights + cache : 0,
      multiplications: works ? multiplications : 0,
    }
  }

  async collect(): Promise<readonly Timed[]> {
    const timed = this.#timed
    this.#timed = []
    return timed
  }

  destroy(): void {}
}
