import { isRecord } from '../../platform/index.js'

/** Whether a value is such as a keyword takes, also where it was put into quotes by mistake. */
export type Shape = (value: unknown) => boolean

const TYPES = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object', 'any'])

export const text: Shape = (value) => typeof value === 'string'
export const number: Shape = (value) =>
  typeof value === 'number' || (text(value) && /^-?\d+(\.\d+)?$/.test(value as string))
export const truth: Shape = (value) => typeof value === 'boolean' || value === 'true' || value === 'false'
export const schema: Shape = (value) => isRecord(value) || truth(value)
export const list: Shape = Array.isArray
export const listOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape)
export const mapOf =
  (shape: Shape): Shape =>
  (value) =>
    isRecord(value) && Object.values(value).every(shape)
export const either =
  (...shapes: Shape[]): Shape =>
  (value) =>
    shapes.some((shape) => shape(value))

export const anything: Shape = () => true
export const type = either((value) => TYPES.has(value as string), schema)
export const schemas = listOf(schema)
export const names = listOf(text)
export const bound = either(number, truth)
/** An address: a bare word is a name of something else. */
export const reference: Shape = (value) => typeof value === 'string' && /[#/]|\.json$/.test(value)
