import { SchemaError, type SchemaPath } from './schema-error.js'

/**
 * The step budget of one compilation, shared by all its parts. Steps are counted, not milliseconds, so that a schema is
 * accepted or refused alike on every device.
 */
export class Fuel {
  #left: number
  readonly #limit: number
  /** Where the compiler stands, so that a refusal names the place that was too costly. */
  path: SchemaPath = []
  keyword = ''

  constructor(steps = 400_000) {
    this.#left = steps
    this.#limit = steps
  }

  get left(): number {
    return this.#left
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) {
      throw new SchemaError(
        this.path,
        this.keyword,
        `the schema is too complex to enforce: it takes more than ${this.#limit} steps to compile.`,
      )
    }
  }
}
