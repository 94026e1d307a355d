/** ajv's opinion of an instance. */

import { Ajv, type AnySchema } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const options = { strict: false, validateSchema: false, logger: false, allErrors: false } as const

/** Undefined where ajv cannot compile the schema. */
export function ajvOf(schema: unknown): ((data: unknown) => boolean) | undefined {
  const dialect = String((schema as { $schema?: unknown } | null)?.$schema ?? '')
  const Dialect = /draft-0[3-7]/.test(dialect) ? Ajv : dialect.includes('2019-09') ? Ajv2019 : Ajv2020
  try {
    const ajv = new Dialect(options)
    formats.default(ajv)
    const { $schema: _, $async: __, ...rest } = schema as Record<string, unknown>
    const validate = ajv.compile(rest as AnySchema)
    return (data) => validate(data) as boolean
  } catch {
    return undefined
  }
}

export function ajvAccepts(schema: unknown, data: unknown): boolean | undefined {
  try {
    return ajvOf(schema)?.(data)
  } catch {
    return undefined
  }
}
