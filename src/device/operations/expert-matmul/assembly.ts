import { EXPERT_GROUPS, ExpertMatmul, GROUP } from '../../cpu/assembly/abi'
import { addBias } from '../../cpu/assembly/elementwise'
import { multiply } from '../../cpu/assembly/matmul'
import { wordAt } from '../../cpu/assembly/words'

export function expertMatmul(args: usize, from: i32, to: i32, thread: i32): void {
  const n = ExpertMatmul.rows(args)
  const k = ExpertMatmul.columns(args)
  const groups = n / GROUP
  const units = (groups + EXPERT_GROUPS - 1) / EXPERT_GROUPS
  const active = load<i32>(ExpertMatmul.active(args))
  const xStride = ExpertMatmul.xStride(args)
  const yStride = ExpertMatmul.yStride(args)
  const bias = ExpertMatmul.bias(args)
  const planes = ExpertMatmul.unpacked(args) + <usize>thread * ExpertMatmul.unpackedGap(args)
  while (from < to) {
    const index = from / units
    if (index >= active) return
    // All that is wanted of an expert at once.
    const first = from % units
    const last = min(units, first + to - from)
    from += last - first
    const places = wordAt(ExpertMatmul.firsts(args), index)
    const tokens = wordAt(ExpertMatmul.firsts(args), index + 1) - places
    const base = ExpertMatmul.first(args) + wordAt(ExpertMatmul.list(args), index) * ExpertMatmul.every(args)
    const begin = base + first * EXPERT_GROUPS
    const end = min(base + last * EXPERT_GROUPS, base + groups)
    // The product writes where its rows stand in the whole.
    const y = ExpertMatmul.y(args) + <usize>places * yStride - ((<usize>(base * GROUP)) << 2)
    const x = ExpertMatmul.x(args) + <usize>places * xStride
    multiply(args, x, y, yStride, begin, end, (base + groups) * GROUP, k, tokens, false, planes)
    if (bias === 0) continue
    const row = (<usize>(begin * GROUP)) << 2
    for (let t: usize = 0; t < <usize>tokens; t++) addBias(y + t * yStride + row, bias + row, (end - begin) * GROUP)
  }
}
