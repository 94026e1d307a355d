import { SchemaError, type SchemaPath } from './schema-error.js'

/**
 * The step budget of one compilation, shared by all its parts. Steps are counted, not milliseconds, so that a schema is
 * accepted or refused alike on every device.
 */
export class Fuel {
  #left: number
  readonly #limit: number
  /** Where the compiler stands, so that a refusal names the place that was too costly. */
  place: { readonly path: SchemaPath } = { path: [] }

  constructor(steps = 200_000) {
    this.#left = steps
    this.#limit = steps
  }

  get left(): number {
    return this.#left
  }

  get spent(): number {
    return this.#limit - this.#left
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) {
      throw new SchemaError(
        this.place.path,
        '',
        `the schema is too complex to enforce: it takes more than ${this.#limit} steps to compile.`,
      )
    }
  }
}
