/** Which matrices subgroups multiply as one, of those that an adapter lists, `tiled-matrices.ts` makes use of. */
import type { MatrixConfig } from '../../../platform/index.js'

/** Results of M rows by N columns from factors that are K deep. */
export interface SubgroupMatrices extends Pick<MatrixConfig, 'M' | 'N' | 'K'> {
  /** What is multiplied: sums are f32. */
  readonly component: 'f16' | 'f32'
  /** Invocations of a subgroup, at most. */
  readonly lanes: number
}

/** Subgroups of a workgroup that multiply. */
export const QUARTERS = 4
/** Rows of activations, and of the matrix, of one of these. */
export const SIDE = 32
/** Invocations that every GPU has in a workgroup. */
const MOST_THREADS = 256

/** The best of them, if any: with factors in f16 where shaders know it, and of these the largest. */
export function chooseMatrices(
  configs: readonly MatrixConfig[],
  lanes: number,
  half: boolean,
): SubgroupMatrices | undefined {
  if (QUARTERS * lanes > MOST_THREADS) return undefined
  const known = (component: string): component is 'f16' | 'f32' => component === 'f32' || (half && component === 'f16')
  const found = configs.flatMap(({ M, N, K, componentType: component, resultComponentType }): SubgroupMatrices[] => {
    const fits = [M, N, K].every((size) => SIDE % size === 0)
    return fits && known(component) && resultComponentType === 'f32' ? [{ M, N, K, component, lanes }] : []
  })
  const size = ({ M, N, K, component }: SubgroupMatrices) => M * N * K * (component === 'f16' ? 2 ** 20 : 1)
  return found.sort((a, b) => size(b) - size(a))[0]
}
