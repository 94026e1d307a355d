/** ajv's opinion of an instance; of multiples, which ajv divides as doubles, by decimal arithmetic. */

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
    ajv.removeKeyword('multipleOf')
    ajv.addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', validate: isMultiple })
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

/** Whether a number is a multiple of a step, both as their shortest decimal texts say. */
export function isMultiple(step: number, value: number): boolean {
  const [a, b] = [decimal(value), decimal(step)]
  const places = Math.max(a.places, b.places)
  const whole = ({ digits, places: own }: Decimal) => digits * 10n ** BigInt(places - own)
  return whole(a) % whole(b) === 0n
}

/** `digits` divided by ten so many times. */
interface Decimal {
  readonly digits: bigint
  readonly places: number
}

function decimal(value: number): Decimal {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))!
  const places = fraction.length - Number(exponent)
  const digits = BigInt(`${sign}${whole}${fraction}`)
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places }
}
