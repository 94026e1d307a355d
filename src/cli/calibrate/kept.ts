/** Fitted temperatures, kept in the folder of downloads: by model and by the order in which options were asked. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Calibration } from '../../engines/index.js'
import { defaultFolder } from '../../models/index.js'
import { isRecord } from '../../platform/index.js'
import { Fault } from '../fault.js'

export type OptionOrder = keyof Calibration

/** Of one order: what was fitted, and on what. */
export interface Fitted {
  readonly temperature: number
  readonly answers: number
  readonly accuracy: number
  readonly eceBefore: number
  readonly eceAfter: number
}

const ORDERS: readonly OptionOrder[] = ['given', 'average']

export const keptAt = (model: string, cache: string | undefined): string =>
  join(cache ?? defaultFolder()!, 'calibration', `${model}.json`)

/** As the engine takes it; undefined where none was fitted. */
export function keptCalibration(model: string, cache: string | undefined): Calibration | undefined {
  const file = keptAt(model, cache)
  const kept = read(file)
  const found = ORDERS.flatMap((order) => {
    const fitted = kept[order]
    if (fitted === undefined) return []
    const temperature = isRecord(fitted) ? fitted.temperature : undefined
    if (typeof temperature === 'number' && temperature > 0) return [[order, temperature] as const]
    throw new Fault(`${file} has no temperature for the order '${order}'. Fit it again, or delete the file.`, 1)
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

/** Beside what was fitted for the other order. */
export function keep(model: string, cache: string | undefined, order: OptionOrder, fitted: Fitted): string {
  const file = keptAt(model, cache)
  const fresh = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(fresh, `${JSON.stringify({ ...read(file), [order]: fitted }, null, 2)}\n`)
  renameSync(fresh, file)
  return file
}

function read(file: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Fault(`${file} cannot be read: ${(error as Error).message}`, 1)
  }
  try {
    const kept: unknown = JSON.parse(text)
    if (isRecord(kept)) return { ...kept }
  } catch {
    // Said below.
  }
  throw new Fault(`${file} is not a file of fitted temperatures. Delete it, or fit them again.`, 1)
}
