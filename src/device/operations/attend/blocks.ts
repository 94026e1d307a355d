/**
 * Attention of many rows, cut for hardware. A workgroup takes the queries of neighbouring rows that share a head of keys,
 * and goes over the context block by block: both products are made as `matmul.ts` makes its own, from tiles in shared
 * memory, by invocations that hold a few queries by four keys, and then the same queries by some columns of the values.
 */
import { CACHE_BLOCK, PAGE } from '../../contract.js'
import {
  cacheFunctions,
  codesFunction,
  fourOf,
  foursPerWord,
  isPacked,
  perWord,
  wordsPerHead,
} from '../../gpu/kernels/cache.js'
import { type BlocksCut, cutsOf } from '../../gpu/kernels/cuts.js'
import { capped, declare, float, type GpuTraits, type Kernel, memo, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'
import { LOW } from './pieces.js'
import { type AttendShape, maskFunctions, sinkBinding, sunk } from './shape.js'

/** Columns of a step of the first product, in vectors of four. */
const QUADS = 8
/** A row of queries in shared memory: odd, so that neighbours lie in different banks. */
const STRIDE = QUADS + 1
/** Vectors of four of a tile of values. */
const VALUES = 512

/** Whether heads are such that this is the way. */
export function inBlocks(shape: AttendShape): boolean {
  return wordsPerHead(shape) % 4 === 0 && shape.headSize <= 256
}

/** Of the queries that share a head of keys, those of one workgroup. */
export function sharersInBlock({ queries, heads }: AttendShape, cut: BlocksCut): number {
  const group = queries / heads
  for (let count = Math.min(group, cut.queries); count > 1; count--) if (group % count === 0) return count
  return 1
}

export function blockRowsOf(shape: AttendShape, cut: BlocksCut): number {
  return Math.floor(cut.queries / sharersInBlock(shape, cut))
}

export const blocksKernel = memo(function blocksKernel(shape: AttendShape, traits: GpuTraits): Kernel {
  const { headSize, type, queries, columns, heads, scale } = shape
  const cut = cutsOf(traits).blocks
  const { queries: M, keys: N, lanes } = cut
  const across = N / 4
  const down = lanes / across
  const held = M / down
  const sharers = sharersInBlock(shape, cut)
  const cuts = queries / heads / sharers
  const quads = headSize / 4
  /** Vectors of four of the answer that an invocation holds of each query. */
  const wide = Math.ceil(quads / across)
  const beside = traits.lanes >= across
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['qkv', 'vec4<f32>', 'r'],
    ['cache', type === 'f32' ? 'vec4<f32>' : 'vec4<u32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
    ...sinkBinding(shape),
  ])
  const whole = quads % QUADS === 0
  const rows = Math.min(N, 2 ** Math.floor(Math.log2(VALUES / quads)))
  const keys = loadKeys(shape, M * STRIDE, N, lanes)
  const all = Math.max(M * STRIDE + N * QUADS, (M * N) / 4)
  return {
    name: 'attend blocks',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(beside ? across : 1)}
${source}
${META}
${cacheFunctions(shape)}${codesFunction(shape)}
// First queries and keys, then what they give.
var<workgroup> tile: array<vec4<f32>, ${all}>;
var<workgroup> values: array<vec4<f32>, ${rows * quads}>;
${beside ? '' : `var<workgroup> found: array<f32, ${M * across}>;`}
${maskFunctions(shape)}
@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
  let range = tileOf(id.x);
  let row = range & 0xffffu;
  let rows = range >> 16u;
  let head = id.y / ${cuts}u;
  let tx = index % ${across}u;
  let ty = index / ${across}u;
  let start = firstOf(row);
  let end = lastOf(row + rows - 1u) + 1u;
${unrolled(held, (r) => {
  const own = `(ty + ${r * down}u) / ${sharers}u`
  return `  let valid${r} = ${own} < rows;
  let first${r} = firstOf(row + min(${own}, rows - 1u));
  let last${r} = lastOf(row + min(${own}, rows - 1u));
  var most${r} = ${LOW};
  var total${r} = 0.0;
${unrolled(wide, (j) => `  var o${r}_${j} = vec4<f32>();`)}`
})}
  for (var base = start / ${N}u * ${N}u; base < end; base += ${N}u) {
${unrolled(held, (r) => `    var s${r} = vec4<f32>();`)}
    for (var begin = 0u; begin < ${quads}u; begin += ${QUADS}u) {
      ${whole ? '' : `let some = min(${QUADS}u, ${quads}u - begin);`}
      workgroupBarrier();
      for (var i = index; i < ${M * QUADS}u; i += ${lanes}u) {
        let m = i / ${QUADS}u;
        let q = i % ${QUADS}u;
        let at = (row + min(m / ${sharers}u, rows - 1u)) * ${columns / 4}u + (id.y * ${sharers}u + m % ${sharers}u) * ${quads}u + begin + q;
        ${whole ? '' : 'if (q < some) '}{ tile[m * ${STRIDE}u + q] = qkv[at] * ${float(scale)}; }
      }
${keys}
      workgroupBarrier();
      for (var q = 0u; q < ${whole ? `${QUADS}u` : 'some'}; q++) {
${unrolled(held, (r) => `        let a${r} = tile[(ty + ${r * down}u) * ${STRIDE}u + q];`)}
${unrolled(4, (c) => `        let k${c} = tile[${M * STRIDE}u + q * ${N}u + ${c * across}u + tx];`)}
${LANES.map(
  (lane) => `        { let k = vec4<f32>(k0.${lane}, k1.${lane}, k2.${lane}, k3.${lane});
${unrolled(held, (r) => `          s${r} += a${r}.${lane} * k;`)} }`,
).join('\n')}
      }
    }
    let position = vec4<u32>(base + 4u * tx) + vec4<u32>(0u, 1u, 2u, 3u);
${unrolled(held, (r) => {
  const cap = shape.cap ? `\n    s${r} = ${capped(`s${r}`, shape.cap)};` : ''
  return `${cap}
    let seen${r} = (position >= vec4<u32>(first${r})) & (position <= vec4<u32>(last${r}));
    s${r} = select(vec4<f32>(${LOW}), s${r}, seen${r});
    var peak${r} = max(max(s${r}.x, s${r}.y), max(s${r}.z, s${r}.w));`
})}
${beside ? unrolled(held, (r) => exchange(`peak${r}`, across, (a, b) => `max(${a}, ${b})`, '    ')) : unrolled(held, (r) => `    found[(ty + ${r * down}u) * ${across}u + tx] = peak${r};`)}
    workgroupBarrier();
${beside ? '' : unrolled(held, (r) => `    for (var i = 0u; i < ${across}u; i++) { peak${r} = max(peak${r}, found[(ty + ${r * down}u) * ${across}u + i]); }`)}
${unrolled(
  held,
  (r) => `    peak${r} = max(peak${r}, most${r});
    let fade${r} = exp(most${r} - peak${r});
    most${r} = peak${r};
    let w${r} = select(vec4<f32>(), exp(s${r} - peak${r}), seen${r});
    total${r} = total${r} * fade${r} + dot(w${r}, vec4<f32>(1.0));
    tile[(ty + ${r * down}u) * ${across}u + tx] = w${r};
${unrolled(wide, (j) => `    o${r}_${j} *= fade${r};`)}`,
)}
    for (var begin = 0u; begin < ${N}u; begin += ${rows}u) {
      workgroupBarrier();
${loadValues(shape, rows, lanes)}
      workgroupBarrier();
      for (var k = 0u; k < ${rows / 4}u; k++) {
${unrolled(held, (r) => `        let p${r} = tile[(ty + ${r * down}u) * ${across}u + begin / 4u + k];`)}
${unrolled(wide, (j) => {
  const column = `tx + ${j * across}u`
  const bounded = (j + 1) * across > quads ? `min(${column}, ${quads - 1}u)` : column
  return unrolled(
    4,
    (c) => `        {
          let v = values[(4u * k + ${c}u) * ${quads}u + ${bounded}];
${unrolled(held, (r) => `          o${r}_${j} += p${r}[${c}] * v;`)}
        }`,
  )
})}
      }
    }
  }
${beside ? unrolled(held, (r) => exchange(`total${r}`, across)) : throughMemory(held, down, across)}
${unrolled(held, (r) => {
  const own = `ty + ${r * down}u`
  return `  if (valid${r}) {${sink(shape, sharers, own, r)}
    let to = ((row + (${own}) / ${sharers}u) * ${queries}u + id.y * ${sharers}u + (${own}) % ${sharers}u) * ${quads}u + tx;
${unrolled(wide, (j) => `    ${(j + 1) * across > quads ? `if (tx + ${j * across}u < ${quads}u) ` : ''}{ out[to + ${j * across}u] = o${r}_${j} / total${r}; }`)}
  }`
})}
}`,
  }
})

const sink = (shape: AttendShape, sharers: number, own: string, r: number) =>
  shape.sinks
    ? `\n    total${r} = total${r}${sunk(shape, `id.y * ${sharers}u + (${own}) % ${sharers}u`, `most${r}`)};`
    : ''

function throughMemory(held: number, down: number, across: number): string {
  return `  workgroupBarrier();
${unrolled(held, (r) => `  found[(ty + ${r * down}u) * ${across}u + tx] = total${r};`)}
  workgroupBarrier();
${unrolled(
  held,
  (r) => `  total${r} = 0.0;
  for (var i = 0u; i < ${across}u; i++) { total${r} += found[(ty + ${r * down}u) * ${across}u + i]; }`,
)}`
}

const LANES = ['x', 'y', 'z', 'w']
/** Pages that are there. */
const PAGE_OF = (position: string) =>
  `cachePage(row, clamp((${position}) / ${PAGE}u, start / ${PAGE}u, (end - 1u) / ${PAGE}u))`

/**
 * Four columns of four keys at a time. Key 4 i + c goes to place c * N / 4 + i: those that an invocation holds are
 * neighbours in the answer, and what neighbouring invocations read are neighbours here.
 */
function loadKeys(shape: AttendShape, keysAt: number, N: number, lanes: number): string {
  const { headSize, type } = shape
  const quads = headSize / 4
  const packed = isPacked(shape)
  const words = packed ? 1 : 4 / perWord(shape)
  const whole = quads % QUADS === 0
  const word = (i: number) => (packed ? `q / ${foursPerWord(shape)}u` : `q * ${words}u + ${i}u`)
  const at = (i: number) => `cache[(keyWord(page, head, ${word(i)}, 0u) + slot) / 4u]`
  const value = (c: number) => {
    const lane = LANES[c]!
    if (type === 'f32') return `vec4<f32>(${[0, 1, 2, 3].map((i) => `key${i}.${lane}`).join(', ')})`
    if (type === 'f16') return `vec4<f32>(unpack2x16float(key0.${lane}), unpack2x16float(key1.${lane}))`
    return `unpack2x16float(factors.${lane}).x * ${fourOf(shape, `key0.${lane}`, 'q')}`
  }
  const factors = packed
    ? `\n        let factors = cache[(scaleWord(page, head, q / ${CACHE_BLOCK / 4}u, 0u) + slot) / 4u];`
    : ''
  return `      for (var i = index; i < ${(QUADS * N) / 4}u; i += ${lanes}u) {
        let place = i % ${N / 4}u;
        let q = ${whole ? '' : 'min('}begin + i / ${N / 4}u${whole ? '' : `, ${quads - 1}u)`};
        let page = ${PAGE_OF('base + 4u * place')};
        let slot = 4u * (place % ${PAGE / 4}u);
${unrolled(words, (w) => `        let key${w} = ${at(w)};`)}${factors}
${unrolled(4, (c) => `        tile[${keysAt}u + i / ${N / 4}u * ${N}u + ${(c * N) / 4}u + place] = ${value(c)};`)}
      }`
}

/** Rows of values, sixteen bytes at a time; what nobody sees as zeros, since nothing must come of it. */
function loadValues(shape: AttendShape, rows: number, lanes: number): string {
  const { headSize, type } = shape
  const each = perWord(shape)
  const loads = headSize / 4 / each
  const value = (i: number) => {
    if (type === 'f32') return 'four'
    if (type === 'f16')
      return `vec4<f32>(unpack2x16float(four.${LANES[2 * i]}), unpack2x16float(four.${LANES[2 * i + 1]}))`
    return `factor * ${fourOf(shape, `four.${LANES[Math.floor(i / foursPerWord(shape))]}`, i)}`
  }
  const block = `c / ${CACHE_BLOCK / (4 * each)}u`
  const factor = isPacked(shape)
    ? `\n        let factor = unpack2x16float(cache[scaleWord(page, head, ${block}, slot) / 4u][slot % 4u]).y;`
    : ''
  return `      for (var i = index; i < ${rows * loads}u; i += ${lanes}u) {
        let c = i % ${loads}u;
        let key = i / ${loads}u;
        let place = base + begin + key;
        let page = ${PAGE_OF('place')};
        let slot = place % ${PAGE}u;
        let four = cache[valueWord(page, head, 4u * c, slot) / 4u];${factor}
        let there = place >= start && place < end;
${unrolled(each, (k) => `        values[key * ${headSize / 4}u + c * ${each}u + ${k}u] = select(vec4<f32>(), ${value(k)}, there);`)}
      }`
}
