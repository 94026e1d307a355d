/** Turns queries and keys by their positions, norming their heads first where asked, and stores keys and values. */
import { CACHE_BLOCK, PAGE } from '../../contract.js'
import { type CacheLayout, cacheFunctions, isPacked } from '../../gpu/kernels/cache.js'
import type { Binding } from '../../gpu/kernels/formats.js'
import { declare, float, type Kernel, MOST_GROUPS, memo, type Recorder } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { grown, type RopeShape, turned } from './rotation.js'
import { storeBlockFunctions } from './store-blocks.js'

/** Heads of a row; of blocks, those of values go with those of keys. */
function headsOf(shape: RopeShape): number {
  const { queries, heads, queriesOnly } = shape
  if (queriesOnly) return queries
  return queries + (isPacked(shape) ? 1 : 2) * heads
}

/** An invocation takes values 2 j and 2 j + 1 of a head and those that they are turned with. */
export const ropeKernel = memo(function ropeKernel(shape: RopeShape): Kernel {
  const { queries, columns, headSize, epsilon } = shape
  const normed = epsilon !== undefined
  const inBlocks = isPacked(shape)
  const list: Binding[] = [
    ['batch', 'u32', 'r'],
    ['angles', 'vec4<f32>', 'r'],
    ['qkv', 'f32', 'w'],
    ['cache', shape.type === 'f32' ? 'f32' : 'u32', 'w'],
  ]
  if (normed) list.push(['queryGain', 'f32', 'r'], ['keyGain', 'f32', 'r'])
  const { source, bindings } = declare(list)
  const all = headsOf(shape)
  const quarter = headSize / 4
  return {
    name: 'rope',
    bindings,
    source: /* wgsl */ `
${source}
${META}
${cacheFunctions(shape)}
${inBlocks ? `${putFunction(shape)}\n${storeBlockFunctions(shape, pairAngle(quarter))}` : storeFunctions(shape)}
@compute @workgroup_size(${normed ? quarter : 64})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
  let flat = group.x + group.y * ${MOST_GROUPS}u;
  ${
    normed
      ? `let unit = flat; let j = index;`
      : `let unit = (flat * 64u + index) / ${quarter}u; let j = (flat * 64u + index) % ${quarter}u;`
  }
  let row = unit / ${all}u;
  if (row >= rowCount()) { return; }
  let head = unit % ${all}u;
  let at = row * ${columns}u + head * ${headSize}u + 2u * j;
  var low = vec2<f32>(qkv[at], qkv[at + 1u]);
  var high = vec2<f32>(qkv[at + ${headSize / 2}u], qkv[at + ${headSize / 2 + 1}u]);
  let position = positionOf(row);
  let page = cachePage(row, position / ${PAGE}u);
  let slot = position % ${PAGE}u;
  ${inBlocks ? writeBlock(shape) : writeValue(shape)}
  ${normed ? normHead(shape) : ''}
  let turn = angles[position * ${quarter}u + j];
  let cosine = turn.xz;
  let sine = turn.yw;
  let turnedLow = ${turned('low')};
  let turnedHigh = ${turned('high')};
  if (head < ${queries}u) {
    let grownLow = turnedLow${grown(shape, 'position')};
    let grownHigh = turnedHigh${grown(shape, 'position')};
    qkv[at] = grownLow.x;
    qkv[at + 1u] = grownLow.y;
    qkv[at + ${headSize / 2}u] = grownHigh.x;
    qkv[at + ${headSize / 2 + 1}u] = grownHigh.y;
  }${inBlocks ? '' : writeKey(shape)}
}`,
  }
})

const writeValue = ({ queries, heads, headSize }: RopeShape) => `if (head >= ${queries + heads}u) {
    storeValue(page, head - ${queries + heads}u, j, slot, low);
    storeValue(page, head - ${queries + heads}u, j + ${headSize / 4}u, slot, high);
    return;
  }`

const writeKey = ({ queries, headSize }: RopeShape) => ` else {
    storeKey(page, head - ${queries}u, j, slot, turnedLow);
    storeKey(page, head - ${queries}u, j + ${headSize / 4}u, slot, turnedHigh);
  }`

/** Fewer invocations than a head has do all of it. */
const writeBlock = ({ queries, headSize, epsilon }: RopeShape) => `if (head >= ${queries}u) {
    if (j < ${headSize / CACHE_BLOCK}u) {
      storeBlock(row, position, page, head - ${queries}u, j, slot, ${epsilon === undefined ? '1.0' : `keyNormOf(row, head - ${queries}u)`});
    }
    return;
  }`

/** Of a table of two pairs to an element. */
const pairAngle = (quarter: number) => (position: string, j: string) =>
  `select(angles[${position} * ${quarter}u + ${j} / 2u].xy, angles[${position} * ${quarter}u + ${j} / 2u].zw, (${j} & 1u) == 1u)`

/** The whole head is read before any of it is overwritten: its invocations are one workgroup. */
function normHead({ queries, columns, headSize, epsilon }: RopeShape): string {
  return /* wgsl */ `
  var sum = 0.0;
  let start = row * ${columns}u + head * ${headSize}u;
  for (var i = 0u; i < ${headSize}u; i++) { sum = fma(qkv[start + i], qkv[start + i], sum); }
  workgroupBarrier();
  let scale = inverseSqrt(sum / ${float(headSize)} + ${float(epsilon!)});
  let g = 2u * j;
  if (head < ${queries}u) {
    low *= scale * vec2<f32>(queryGain[g], queryGain[g + 1u]);
    high *= scale * vec2<f32>(queryGain[g + ${headSize / 2}u], queryGain[g + ${headSize / 2 + 1}u]);
  } else {
    low *= scale * vec2<f32>(keyGain[g], keyGain[g + 1u]);
    high *= scale * vec2<f32>(keyGain[g + ${headSize / 2}u], keyGain[g + ${headSize / 2 + 1}u]);
  }`
}

/** What f16 cannot hold becomes NaN, which comes out in the logits; an infinite key may only look like an unwanted one. */
const HALVES = /* wgsl */ `
fn halvesOf(value: vec2<f32>) -> u32 {
  return select(pack2x16float(value), 0x7e007e00u, any(abs(value) > vec2<f32>(65504.0)));
}`

/** `fn put(at, word)`: `wide`: the cache is bound as vectors of four words. */
export function putFunction({ type }: CacheLayout, wide = false): string {
  const word = type === 'f32' ? 'f32' : 'u32'
  return `fn put(at: u32, word: ${word}) { ${wide ? 'cache[at / 4u][at % 4u]' : 'cache[at]'} = word; }`
}

export function storeFunctions(layout: CacheLayout, wide = false): string {
  const half = layout.type === 'f16'
  const store = (name: string) =>
    half
      ? `  put(${name}(page, head, pair, slot), halvesOf(value));`
      : `  put(${name}(page, head, 2u * pair, slot), value.x);
  put(${name}(page, head, 2u * pair + 1u, slot), value.y);`
  return /* wgsl */ `${half ? HALVES : ''}
${putFunction(layout, wide)}
fn storeKey(page: u32, head: u32, pair: u32, slot: u32, value: vec2<f32>) {
${store('keyWord')}
}
fn storeValue(page: u32, head: u32, pair: u32, slot: u32, value: vec2<f32>) {
${store('valueWord')}
}`
}

export interface RopeOperands {
  readonly angles: GPUBuffer
  readonly qkv: GPUBuffer
  readonly cache: GPUBuffer
  readonly gains?: readonly [query: GPUBuffer, key: GPUBuffer]
}

export function dispatchRope(pass: Recorder, shape: RopeShape, { angles, qkv, cache, gains }: RopeOperands): void {
  const units = pass.rows * headsOf(shape)
  const groups = gains ? units : Math.ceil((units * (shape.headSize / 4)) / 64)
  const buffers = [pass.meta, angles, qkv, cache, ...(gains ?? [])]
  pass.dispatch(ropeKernel(shape), buffers, Math.min(groups, MOST_GROUPS), Math.ceil(groups / MOST_GROUPS))
}
