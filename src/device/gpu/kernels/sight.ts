import type { AttendShape } from './attend-shape.js'

/** The first and the last position that a row sees. */
export function sight({ window, causal = true }: Pick<AttendShape, 'window' | 'causal'>): string {
  const reach = window === undefined ? 'endOf(row)' : `min(endOf(row), positionOf(row) + ${window - 1}u)`
  return `fn firstOf(row: u32) -> u32 { return ${window === undefined ? '0u' : `max(positionOf(row) + 1u, ${window}u) - ${window}u`}; }
fn lastOf(row: u32) -> u32 { return ${causal ? 'positionOf(row)' : reach}; }`
}
