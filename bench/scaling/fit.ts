/** What each reason costs on a device, from points that were measured there. */
import { median } from '../../src/bench/stats.js'
import { REASONS, type Reason, type Work } from './work.js'

export interface Point {
  readonly shape: string
  readonly what: string
  readonly work: Work
  readonly seconds: number
}

/** Seconds per unit of each reason; none is below 0. */
export type Costs = Readonly<Record<Reason, number>>

const NAMES = Object.keys(REASONS) as Reason[]
const SWEEPS = 20_000

export function predict(costs: Costs, work: Work): number {
  return NAMES.reduce((total, reason) => total + costs[reason] * work[reason], 0)
}

/**
 * Least squares of the relative errors with no cost below 0, by going along one cost after the other. A reason that the
 * points cannot tell from the others comes out as 0.
 */
export function fitCosts(points: readonly Point[]): Costs {
  const rows = points.map(({ work, seconds }) => NAMES.map((reason) => work[reason] / seconds))
  const scale = NAMES.map((_, j) => Math.hypot(...rows.map((row) => row[j]!)) || 1)
  const scaled = rows.map((row) => row.map((value, j) => value / scale[j]!))
  const square = NAMES.map((_, j) => NAMES.map((_, k) => dot(scaled, j, k)))
  const wanted = NAMES.map((_, j) => scaled.reduce((total, row) => total + row[j]!, 0))
  const costs = NAMES.map(() => 0)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let j = 0; j < costs.length; j++) {
      const diagonal = square[j]![j]!
      if (diagonal === 0) continue
      const others = costs.reduce((total, cost, k) => (k === j ? total : total + cost * square[j]![k]!), 0)
      costs[j] = Math.max(0, (wanted[j]! - others) / diagonal)
    }
  }
  return Object.fromEntries(NAMES.map((reason, j) => [reason, costs[j]! / scale[j]!])) as Costs
}

function dot(rows: readonly (readonly number[])[], j: number, k: number): number {
  return rows.reduce((total, row) => total + row[j]! * row[k]!, 0)
}

export interface Errors {
  readonly median: number
  readonly worst: number
}

/** How far predictions lie from what was measured, as shares of it. */
export function errorsOf(costs: Costs, points: readonly Point[]): Errors {
  const errors = points.map(({ work, seconds }) => Math.abs(predict(costs, work) / seconds - 1))
  return { median: median(errors), worst: Math.max(...errors) }
}

/** Each shape predicted from the points of all others: what the model knows of shapes that it has not seen. */
export function leaveOneOut(points: readonly Point[]): Map<string, Errors> {
  const shapes = [...new Set(points.map(({ shape }) => shape))]
  return new Map(
    shapes.map((shape) => {
      const others = fitCosts(points.filter((point) => point.shape !== shape))
      return [
        shape,
        errorsOf(
          others,
          points.filter((point) => point.shape === shape),
        ),
      ]
    }),
  )
}
