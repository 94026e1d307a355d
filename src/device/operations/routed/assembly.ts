import { GROUP, ROUTED_GROUPS, Routed } from '../../cpu/assembly/abi'
import { addBias } from '../../cpu/assembly/elementwise'
import { multiply } from '../../cpu/assembly/matmul'
import { wordAt } from '../../cpu/assembly/words'

export function routed(args: usize, from: i32, to: i32, thread: i32): void {
  const n = Routed.rows(args)
  const k = Routed.columns(args)
  const groups = n / GROUP
  const units = (groups + ROUTED_GROUPS - 1) / ROUTED_GROUPS
  const active = load<i32>(Routed.active(args))
  const xStride = Routed.xStride(args)
  const yStride = Routed.yStride(args)
  const bias = Routed.bias(args)
  const planes = Routed.unpacked(args) + <usize>thread * Routed.unpackedGap(args)
  while (from < to) {
    const index = from / units
    if (index >= active) return
    // All that is wanted of an expert at once.
    const first = from % units
    const last = min(units, first + to - from)
    from += last - first
    const places = wordAt(Routed.firsts(args), index)
    const tokens = wordAt(Routed.firsts(args), index + 1) - places
    const base = Routed.first(args) + wordAt(Routed.list(args), index) * Routed.every(args)
    const begin = base + first * ROUTED_GROUPS
    const end = min(base + last * ROUTED_GROUPS, base + groups)
    // The product writes where its rows stand in the whole.
    const y = Routed.y(args) + <usize>places * yStride - ((<usize>(base * GROUP)) << 2)
    const x = Routed.x(args) + <usize>places * xStride
    multiply(args, x, y, yStride, begin, end, (base + groups) * GROUP, k, tokens, false, planes)
    if (bias === 0) continue
    const row = (<usize>(begin * GROUP)) << 2
    for (let t: usize = 0; t < <usize>tokens; t++) addBias(y + t * yStride + row, bias + row, (end - begin) * GROUP)
  }
}
