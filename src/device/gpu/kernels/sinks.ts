/** A score that takes its share of a head's softmax, and gives nothing: it is the last that the sum of a query gets. */
import type { AttendShape } from './attend-shape.js'
import type { Binding } from './formats.js'

type Sinking = Pick<AttendShape, 'sinks'>

export const sinkBinding = ({ sinks }: Sinking): Binding[] => (sinks ? [['sinks', 'f32', 'r']] : [])

/** What is added to the sum of a head of queries whose greatest score is `most`; both are expressions. */
export function sunk({ sinks }: Sinking, head: string, most: string): string {
  // Far above all scores it leaves nothing of them anyway: no more than f32 holds is asked for.
  return sinks ? ` + exp(min(sinks[${head}] - ${most}, 80.0))` : ''
}
