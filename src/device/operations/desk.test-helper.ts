import { type Activations, type Batch, type Device, NO_STATE, type Pass, type Vector } from '../contract.js'
import { embed } from './embed/index.js'
import { Chance } from './numbers.test-helper.js'

/** Two sequences: one begins, one goes on; row i is token i. */
export const SPANS: Batch['spans'] = [
  { tokens: Int32Array.of(0, 1, 2), position: 0, pages: Int32Array.of(2), state: { from: NO_STATE, to: 1 } },
  { tokens: Int32Array.of(3, 4), position: 15, pages: Int32Array.of(0, 1), state: { from: NO_STATE, to: 0 } },
]
export const ROWS = 5

/** Tensors of a device with the same numbers in them on each. */
export class Desk {
  readonly device: Device
  readonly #chance = new Chance(11)
  #filling: ((pass: Pass) => void)[] = []

  constructor(device: Device) {
    this.device = device
  }

  matrix(rows: number, columns: number) {
    const data = new Uint8Array(this.#chance.floats(rows * columns).buffer)
    return this.device.matrix({ format: 'f32', rows, columns, data })
  }

  vector(length: number): Vector {
    return this.device.vector(this.#chance.floats(length))
  }

  filled(columns: number): Activations {
    const [table, out] = [this.matrix(ROWS, columns), this.empty(columns)]
    this.#filling.push((pass) => pass.run(embed, table, out))
    return out
  }

  empty(columns: number, rows = ROWS): Activations {
    return this.device.activations(rows, columns)
  }

  begin(batch: Batch = { spans: SPANS }): Pass {
    const pass = this.device.begin(batch)
    for (const fill of this.#filling) fill(pass)
    return pass
  }

  async outcome(record: (pass: Pass) => void, out: Activations, rows = ROWS): Promise<number[]> {
    const pass = this.begin()
    record(pass)
    const read = pass.read(out, rows)
    await pass.submit()
    return [...(await read)]
  }
}

/** A case of an operation, in which its twins must agree. */
export interface Case {
  /** What it computes. */
  run(desk: Desk): Promise<number[]>
  /** The same with an operand that is too small. */
  misfit(desk: Desk): void
}
