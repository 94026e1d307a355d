/**
 * Attention with one invocation for each head of each row: no barrier, so that software adapters are quick with it.
 * The softmax runs along, page by page.
 */
import { CACHE_BLOCK, PAGE } from '../../contract.js'
import {
  blockWords,
  cacheFunctions,
  codeOf,
  codesFunction,
  fourOf,
  foursPerWord,
  isPacked,
  perWord,
  wordsPerHead,
} from '../../gpu/kernels/cache.js'
import { capped, declare, float, type Kernel, memo, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { type AttendShape, maskFunctions, sinkBinding, sunk } from './shape.js'

const QUADS = PAGE / 4

export const attendSerialKernel = memo(function attendSerialKernel(shape: AttendShape): Kernel {
  const { queries, columns, heads, headSize, type, scale, cap, gathered } = shape
  const packed = isPacked(shape)
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['qkv', 'f32', 'r'],
    ['cache', type === 'f32' ? 'vec4<f32>' : 'vec4<u32>', 'r'],
    ['out', 'f32', 'w'],
    ...sinkBinding(shape),
  ])
  return {
    name: 'attend serial',
    bindings,
    source: /* wgsl */ `
${source}
${META}
${cacheFunctions(shape)}
${maskFunctions(shape)}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let item = id.x / ${queries}u;
  if (item >= ${gathered ? 'headRows' : 'rowCount'}()) { return; }
  let row = ${gathered ? 'gatheredRow(item)' : 'item'};
  let query = id.x % ${queries}u;
  let head = query / ${queries / heads}u;
  let begin = row * ${columns}u + query * ${headSize}u;
  let last = lastOf(row);
  let first = firstOf(row);
  var sums: array<vec4<f32>, ${Math.ceil(headSize / 4)}>;
  var greatest = -3.0e38;
  var total = 0.0;
  for (var index = first / ${PAGE}u; index <= last / ${PAGE}u; index++) {
    let page = cachePage(row, index);
${unrolled(QUADS, (q) => `    var s${q} = vec4<f32>();`)}
${packed ? scoreBlocks(shape) : scoreNumbers(shape)}
    let start = index * ${PAGE}u;
    var most = greatest;
${unrolled(
  QUADS,
  (q) => `    s${q} *= ${float(scale)};${cap ? `\n    s${q} = ${capped(`s${q}`, cap)};` : ''}
    s${q} = select(vec4<f32>(-3.0e38), s${q}, ${visible(q)});
    most = max(most, max(max(s${q}.x, s${q}.y), max(s${q}.z, s${q}.w)));`,
)}
    let fade = exp(greatest - most);
    greatest = most;
${unrolled(QUADS, (q) => `    s${q} = select(vec4<f32>(), exp(s${q} - most), ${visible(q)});`)}
    total = total * fade + ${Array.from({ length: QUADS }, (_, q) => `dot(s${q}, vec4<f32>(1.0))`).join(' + ')};
    for (var i = 0u; i < ${headSize / 4}u; i++) {
      var sum = sums[i] * fade;
${packed ? WEIGHTS : ''}${unrolled(PAGE, (slot) => `      sum += ${packed ? 'w' : 's'}${slot >> 2}[${slot & 3}] * ${valueQuad(shape, slot)};`)}
      sums[i] = sum;
    }
  }
${shape.sinks ? `  total = total${sunk(shape, 'query', 'greatest')};\n` : ''}  for (var i = 0u; i < ${headSize / 4}u; i++) {
    let value = sums[i] / total;
    let to = (row * ${queries}u + query) * ${headSize}u + i * 4u;
    out[to] = value.x;
    out[to + 1u] = value.y;
    out[to + 2u] = value.z;
    out[to + 3u] = value.w;
  }
}
${valueFunction(shape)}`,
  }
})

function visible(q: number): string {
  const positions = [0, 1, 2, 3].map((i) => `start + ${q * 4 + i}u`).join(', ')
  return `(vec4<u32>(${positions}) >= vec4<u32>(first)) & (vec4<u32>(${positions}) <= vec4<u32>(last))`
}

const scoreNumbers = (shape: AttendShape) => `    for (var i = 0u; i < ${wordsPerHead(shape)}u; i++) {
      let key = keyWord(page, head, i, 0u) / 4u;
${shape.type === 'f16' ? scoreHalf() : scoreFloat()}
    }`

/** What each block gives, times the scales of its keys. */
function scoreBlocks(shape: AttendShape): string {
  const words = blockWords(shape)
  const each = perWord(shape)
  const term = (q: number, k: number) => `qkv[start + ${k}u] * ${codeOf(shape, `k${q}`, k)}`
  return `    for (var block = 0u; block < ${shape.headSize / CACHE_BLOCK}u; block++) {
${unrolled(QUADS, (q) => `      var b${q} = vec4<f32>();`)}
      for (var i = block * ${words}u; i < (block + 1u) * ${words}u; i++) {
        let key = keyWord(page, head, i, 0u) / 4u;
        let start = begin + ${each}u * i;
${unrolled(
  QUADS,
  (q) => `        let k${q} = cache[key + ${q}u];
        b${q} += ${Array.from({ length: each }, (_, k) => term(q, k)).join(' + ')};`,
)}
      }
      let scales = scaleWord(page, head, block, 0u) / 4u;
${unrolled(QUADS, (q) => `      s${q} += b${q} * ${scalesOf(`cache[scales + ${q}u]`, 'x')};`)}
    }`
}

/** Of four positions' words, the scales of keys (x) or of values (y). */
const scalesOf = (words: string, which: 'x' | 'y') =>
  `vec4<f32>(${['x', 'y', 'z', 'w'].map((lane) => `unpack2x16float(${words}.${lane}).${which}`).join(', ')})`

/** Scores as they weigh the codes of a block's values. */
const WEIGHTS = `      let scales = scaleWord(page, head, i / ${CACHE_BLOCK / 4}u, 0u) / 4u;
${unrolled(QUADS, (q) => `      let w${q} = s${q} * ${scalesOf(`cache[scales + ${q}u]`, 'y')};`)}
`

function scoreHalf(): string {
  const part = (q: number, component: string) => {
    const words = ['x', 'y', 'z', 'w'].map((lane) => `unpack2x16float(k${q}.${lane}).${component}`).join(', ')
    return `vec4<f32>(${words})`
  }
  return `      let a = qkv[begin + 2u * i]; let b = qkv[begin + 2u * i + 1u];
${unrolled(
  QUADS,
  (q) => `      let k${q} = cache[key + ${q}u];
      s${q} += a * ${part(q, 'x')} + b * ${part(q, 'y')};`,
)}`
}

function scoreFloat(): string {
  return `      let a = qkv[begin + i];
${unrolled(QUADS, (q) => `      s${q} += a * cache[key + ${q}u];`)}`
}

function valueQuad({ type }: AttendShape, slot: number): string {
  return type !== 'f32' ? `valueOf(page, head, i, ${slot}u)` : `cache[valueWord(page, head, 4u * i, ${slot}u) / 4u]`
}

/** Four values of f16 are two words, which may straddle the four of a load. */
function valueFunction(shape: AttendShape): string {
  if (shape.type === 'f32') return ''
  if (isPacked(shape)) return ofCodes(shape)
  return /* wgsl */ `
fn valueOf(page: u32, head: u32, i: u32, slot: u32) -> vec4<f32> {
  let word = valueWord(page, head, 2u * i, slot);
  let four = cache[word / 4u];
  let two = select(four.xy, four.zw, (word & 2u) != 0u);
  return vec4<f32>(unpack2x16float(two.x), unpack2x16float(two.y));
}`
}

const ofCodes = (shape: AttendShape) => /* wgsl */ `${codesFunction(shape)}
fn valueOf(page: u32, head: u32, i: u32, slot: u32) -> vec4<f32> {
  let word = valueWord(page, head, i / ${foursPerWord(shape)}u, slot);
  return ${fourOf(shape, 'cache[word / 4u][word % 4u]', 'i')};
}`
