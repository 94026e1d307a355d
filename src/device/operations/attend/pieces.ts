/**
 * Attention of few rows, cut for hardware: what decoding waits for is memory's latency. A workgroup takes the queries of
 * a row that share a head of keys, and a piece of the context so short that each invocation loads all it needs at once,
 * sixteen bytes at a time. `merge.ts` puts the pieces together. How a row is computed depends on its own position alone.
 */
import { CACHE_BLOCK, PAGE } from '../../contract.js'
import {
  blockWords,
  cacheFunctions,
  codeOf,
  codesFunction,
  fourOf,
  isPacked,
  perWord,
  wordsPerHead,
} from '../../gpu/kernels/cache.js'
import { cutsOf, type PiecesCut } from '../../gpu/kernels/cuts.js'
import { capped, declare, float, type GpuTraits, type Kernel, memo, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups, gather, scatter } from '../../gpu/kernels/subgroup.js'
import type { RopeShape } from '../rope/rotation.js'
import { inAttention, ropeBindings, ropeFunctions } from '../rope/within-attend.js'
import { type AttendShape, maskFunctions, sinkBinding, sunk } from './shape.js'

/** Below every score. */
export const LOW = '-3.0e38'
/** Loads that wait for memory together. */
const TOGETHER = 8

export interface PiecesShape extends AttendShape {
  /** Parts go to scratch instead of the answer. */
  readonly split: boolean
  /** Queries and keys are still to be turned, keys and values to be stored: see `rope/within-attend.ts`. One row each. */
  readonly rope?: RopeShape
}

/** Whether keys and values can be read sixteen bytes at a time. */
export const inPieces = (shape: AttendShape): boolean => wordsPerHead(shape) % 4 === 0

/** Of the queries that share a head of keys, those of one workgroup: as many as fit its memory and registers. */
export function sharersInPiece({ queries, heads, headSize }: AttendShape, { tight }: GpuTraits): number {
  const group = queries / heads
  const most = (headSize > 256 ? 4 : 8) / (tight ? (headSize > 128 && headSize <= 256 ? 4 : 2) : 1)
  for (let count = Math.min(group, most); count > 1; count--) if (group % count === 0) return count
  return 1
}

/** Pieces that a row may see: of a window, those that it touches. */
export function attendPieces({ window, causal = true }: AttendShape, lastPosition: number, positions: number): number {
  const all = Math.ceil((lastPosition + 1) / positions)
  if (window === undefined) return all
  const seen = causal ? window : 2 * window - 1
  return Math.min(all, Math.ceil((seen - 1) / positions) + 1)
}

/** WGSL: the first piece of a row. */
export const firstPiece = (row: string, positions: number) => `firstOf(${row}) / ${positions}u`

interface PiecesPlan extends Omit<PiecesCut, 'lanes'> {
  readonly lanes: number
  readonly sharers: number
  /** `sharers`, padded to a power of two. */
  readonly count: number
  /** Invocations that share the words of a key, and rounds of these. */
  readonly splits: number
  readonly rounds: number
  /** Values of a row that an invocation sums, invocations that a row takes, and those that share the rows. */
  readonly each: 4 | 8
  readonly columns: number
  readonly shares: number
  /** Those that share rows are neighbours, who pass their sums in registers. */
  readonly beside: boolean
}

function planOf(shape: PiecesShape, traits: GpuTraits): PiecesPlan {
  const cut = cutsOf(traits).pieces
  const { headSize, type } = shape
  const each = type === 'f32' ? 4 : 8
  const columns = headSize / each
  let lanes: number = cut.lanes
  // At least a quarter of the positions at a time, and a row of values; more would not leave memory for the scores.
  const least = Math.max(columns, cut.positions / 4, Math.min(headSize / 2, 128))
  while (lanes < least) lanes *= 2
  const sharers = sharersInPiece(shape, traits)
  let count = 1
  while (count < sharers) count *= 2
  const splits = (lanes * 4) / cut.positions
  const beside = traits.lanes > 1
  const room = Math.floor(lanes / columns)
  const shares = beside ? Math.min(traits.lanes, cut.positions, 2 ** Math.floor(Math.log2(room))) : room
  const rounds = Math.ceil(wordsPerHead(shape) / splits)
  return { ...cut, lanes, sharers, count, splits, rounds, each, columns, shares, beside }
}

export const piecesKernel = memo(function piecesKernel(shape: PiecesShape, traits: GpuTraits): Kernel {
  const { headSize, type, rope: toRope, split } = shape
  const plan = planOf(shape, traits)
  const { lanes, positions, sharers, count, splits, shares, each, beside } = plan
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['qkv', 'f32', 'r'],
    ['cache', type === 'f32' ? 'vec4<f32>' : 'vec4<u32>', toRope ? 'w' : 'r'],
    ['out', 'f32', 'w'],
    ...(toRope ? ropeBindings(toRope) : []),
    ...(split ? [] : sinkBinding(shape)),
  ])
  const cuts = shape.queries / shape.heads / sharers
  const near = Math.min(lanes / count, traits.lanes)
  const quads = positions / 4
  const loaded = loadValues(shape, plan)
  return {
    name: toRope ? 'attend and rope' : 'attend pieces',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(Math.max(near, beside ? shares : 1))}
${source}
${META}
${cacheFunctions(shape)}
${toRope ? ropeFunctions(toRope) : ''}
var<workgroup> query: array<f32, ${sharers * headSize}>;
var<workgroup> pages: array<u32, ${positions / PAGE}>;
var<workgroup> scores: array<vec4<f32>, ${splits * sharers * quads}>;
var<workgroup> weights: array<f32, ${count * positions}>;
var<workgroup> partial: array<f32, ${lanes / near}>;
var<workgroup> most: array<f32, ${count}>;
var<workgroup> total: array<f32, ${count}>;
${beside ? '' : `var<workgroup> sums: array<f32, ${each * lanes}>;`}

${maskFunctions(shape)}

@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = id.x;
  let head = id.y / ${cuts}u;
  let first = firstOf(row);
  let base = (${firstPiece('row', positions)} + id.z) * ${positions}u;
  let start = max(first, base);
  let end = min(lastOf(row) + 1u, base + ${positions}u);
  // Beyond what this row sees, but not beyond what others see.
  if (start >= end) { return; }
  for (var i = lane; i < ${positions / PAGE}u; i += ${lanes}u) {
    pages[i] = cachePage(row, clamp(base / ${PAGE}u + i, start / ${PAGE}u, (end - 1u) / ${PAGE}u));
  }
${toRope ? inAttention(toRope, shape.scale, sharers, lanes) : loadQueries(shape, plan)}
  workgroupBarrier();
  let share = ${beside ? `lane % ${shares}u` : `lane / ${plan.columns}u`};
  let column = ${beside ? `min(lane / ${shares}u, ${plan.columns - 1}u)` : `lane % ${plan.columns}u`};
${loaded.early}
${scoring(shape, plan)}
  workgroupBarrier();
${softmax(shape, plan, near)}
  if (lane % ${lanes / count}u == 0u) { most[m] = greatest; total[m] = weight${split ? '' : sunk(shape, `id.y * ${sharers}u + min(m, ${sharers - 1}u)`, 'greatest')}; }
  workgroupBarrier();
${unrolled(sharers * (each / 4), (i) => `  var o${Math.floor(i / (each / 4))}_${i % (each / 4)} = vec4<f32>();`)}
${loaded.sums}
${(beside ? finishBeside : finishThrough)(shape, plan)}
${split ? statistics(shape, plan) : ''}
}
${codesFunction(shape)}`,
  }
})

function loadQueries({ columns, headSize, scale }: PiecesShape, { sharers, lanes }: PiecesPlan): string {
  return `  for (var i = lane; i < ${sharers * headSize}u; i += ${lanes}u) {
    query[i] = qkv[row * ${columns}u + id.y * ${sharers * headSize}u + i] * ${float(scale)};
  }`
}

/** An invocation scores four positions, by its share of the words of their keys. */
function scoring(shape: PiecesShape, plan: PiecesPlan): string {
  const { sharers, splits, rounds, positions } = plan
  const words = wordsPerHead(shape)
  const whole = words % splits === 0
  const word = (i: number) => `split + ${splits * i}u`
  const lines: string[] = []
  for (let from = 0; from < rounds; from += TOGETHER) {
    const some = Array.from({ length: Math.min(TOGETHER, rounds - from) }, (_, i) => from + i)
    for (const i of some) {
      const at = whole ? word(i) : `min(${word(i)}, ${words - 1}u)`
      lines.push(`  let k${i} = cache[keyAt + (${at}) * ${PAGE / 4}u];`)
      if (!isPacked(shape)) continue
      lines.push(`  let z${i} = cache[scaleAt + ((${at}) / ${blockWords(shape)}u) * ${PAGE / 4}u];`)
    }
    for (const i of some) {
      const block = `{\n${products(shape, sharers, `(${word(i)})`, `k${i}`, `z${i}`)}\n  }`
      lines.push(whole ? `  ${block}` : `  if (${word(i)} < ${words}u) ${block}`)
    }
  }
  return `  let split = lane % ${splits}u;
  let quad = lane / ${splits}u;
  let keyAt = keyWord(pages[quad / ${PAGE / 4}u], head, 0u, 4u * (quad % ${PAGE / 4}u)) / 4u;
  ${isPacked(shape) ? `let scaleAt = scaleWord(pages[quad / ${PAGE / 4}u], head, 0u, 4u * (quad % ${PAGE / 4}u)) / 4u;` : ''}
${unrolled(sharers, (m) => `  var s${m} = vec4<f32>();`)}
${lines.join('\n')}
${unrolled(sharers, (m) => `  scores[(split * ${sharers}u + ${m}u) * ${positions / 4}u + quad] = s${m};`)}`
}

const LANES = ['x', 'y', 'z', 'w']

/** Of all queries with one word of four keys. */
function products(shape: PiecesShape, sharers: number, word: string, key: string, scale: string): string {
  const { headSize, type } = shape
  if (type === 'f32') return unrolled(sharers, (m) => `    s${m} += query[${m * headSize}u + ${word}] * ${key};`)
  const four = (of: (lane: string) => string) => `vec4<f32>(${LANES.map(of).join(', ')})`
  if (type === 'f16') {
    const half = (part: string) => four((lane) => `unpack2x16float(${key}.${lane}).${part}`)
    return `    let a = ${half('x')}; let b = ${half('y')};
${unrolled(sharers, (m) => `    s${m} += query[${m * headSize}u + 2u * ${word}] * a + query[${m * headSize}u + 2u * ${word} + 1u] * b;`)}`
  }
  const each = perWord(shape)
  return `    let factor = ${four((lane) => `unpack2x16float(${scale}.${lane}).x`)};
${unrolled(each, (k) => `    let c${k} = factor * ${codeOf(shape, key, k)};`)}
${unrolled(sharers, (m) => `    s${m} += ${Array.from({ length: each }, (_, k) => `query[${m * headSize + k}u + ${each}u * ${word}] * c${k}`).join(' + ')};`)}`
}

/** The invocations share out the queries: each has some positions of one query. */
function softmax({ cap }: PiecesShape, { lanes, count, sharers, splits, positions }: PiecesPlan, near: number): string {
  const each = lanes / count
  const quads = positions / 4
  const loop = `for (var i = lane % ${each}u; i < ${positions}u; i += ${each}u)`
  return `  let m = lane / ${each}u;
  let mine = min(m, ${sharers - 1}u) * ${quads}u;
  var greatest = ${LOW};
  ${loop} {
    var score = ${Array.from({ length: splits }, (_, d) => `scores[mine + ${d * sharers * quads}u + i / 4u][i % 4u]`).join(' + ')};
    ${cap ? `score = ${capped('score', cap)};` : ''}
    score = select(${LOW}, score, base + i >= start && base + i < end);
    weights[m * ${positions}u + i] = score;
    greatest = max(greatest, score);
  }
${gather('greatest', each, near, (a, b) => `max(${a}, ${b})`)}
  var weight = 0.0;
  ${loop} {
    let score = weights[m * ${positions}u + i];
    let part = select(exp(score - greatest), 0.0, score <= ${LOW});
    weights[m * ${positions}u + i] = part;
    weight += part;
  }
${gather('weight', each, near, (a, b) => `${a} + ${b}`)}`
}

/** Values of a column, position by position, each weighed for all queries. Before and after the last position: with 0. */
function loadValues(shape: PiecesShape, plan: PiecesPlan): { readonly early: string; readonly sums: string } {
  const { shares, positions, early } = plan
  const rounds = Math.ceil(positions / shares)
  const load = (i: number) => {
    const at = `clamp(base + share + ${shares * i}u, start, end - 1u)`
    const words = plan.each / perWord(shape)
    const value = `cache[valueWord(pages[(at - base) / ${PAGE}u], head, column * ${words}u, at % ${PAGE}u) / 4u]`
    const scale = `cache[scaleWord(pages[(at - base) / ${PAGE}u], head, column / ${CACHE_BLOCK / plan.each}u, at % ${PAGE}u) / 4u][at % 4u]`
    const more = isPacked(shape) ? `\n  var u${i}: u32;` : ''
    const set = isPacked(shape) ? `\n    u${i} = ${scale};` : ''
    return `  var v${i}: vec4<${shape.type === 'f32' ? 'f32' : 'u32'}>;${more}
  {
    let at = ${at};
    v${i} = ${value};${set}
  }`
  }
  const weigh = (i: number) => {
    const past = (i + 1) * shares > positions
    const at = `share + ${shares * i}u`
    const weight = (m: number) => `weights[${m * positions}u + ${at}]`
    const sum = `  {
${values(shape, plan, i)}
${unrolled(plan.sharers, (m) => unrolled(plan.each / 4, (e) => `    o${m}_${e} += ${weight(m)} * w${e};`))}
  }`
    return past ? `  if (${at} < ${positions}u)${sum}` : sum
  }
  if (early && rounds <= TOGETHER) return { early: unrolled(rounds, load), sums: unrolled(rounds, weigh) }
  const lines: string[] = []
  for (let from = 0; from < rounds; from += TOGETHER) {
    const some = Math.min(TOGETHER, rounds - from)
    lines.push(
      unrolled(some, (i) => load(from + i)),
      unrolled(some, (i) => weigh(from + i)),
    )
  }
  return { early: '', sums: lines.join('\n') }
}

function values(shape: PiecesShape, { each }: PiecesPlan, i: number): string {
  const { type } = shape
  if (type === 'f32') return `    let w0 = v${i};`
  if (type === 'f16') {
    const pair = (a: string, b: string) => `vec4<f32>(unpack2x16float(v${i}.${a}), unpack2x16float(v${i}.${b}))`
    return `    let w0 = ${pair('x', 'y')}; let w1 = ${pair('z', 'w')};`
  }
  const factor = `    let factor = unpack2x16float(u${i}).y;`
  if (each === perWord(shape)) {
    return `    let word = v${i}[column & 3u];
${factor}
    let w0 = factor * ${fourOf(shape, 'word', 0)}; let w1 = factor * ${fourOf(shape, 'word', 1)};`
  }
  return `    let two = select(v${i}.xy, v${i}.zw, (column & 1u) == 1u);
${factor}
    let w0 = factor * codesOf(two.x); let w1 = factor * codesOf(two.y);`
}

/** WGSL: where a value of the answer goes, or of a part. */
function target(
  { queries, headSize, split }: PiecesShape,
  { sharers }: PiecesPlan,
  m: string,
  dimension: string,
): string {
  const unit = `(row * ${queries}u + id.y * ${sharers}u + ${m})`
  return `out[${split ? `(${unit} * batch[3] + id.z)` : unit} * ${headSize}u + ${dimension}]`
}

/** The sums of neighbours go over into registers, until each has some of the whole. */
function finishBeside(shape: PiecesShape, plan: PiecesPlan): string {
  const { sharers, each, columns, shares } = plan
  const names = Array.from({ length: sharers * each }, (_, i) => {
    const value = i % each
    return `o${Math.floor(i / each)}_${value >> 2}.${LANES[value & 3]}`
  })
  const { source, held, stores } = scatter(names, shares)
  const store = ({ name, value }: (typeof held)[number]) => `  {
    let value = ${value};
    if (value < ${names.length}u) {
      let m = value / ${each}u;
      ${target(shape, plan, 'm', `column * ${each}u + value % ${each}u`)} = ${name}${shape.split ? '' : ' / total[m]'};
    }
  }`
  return `${source}
  if (lane < ${columns * shares}u && ${stores}) {
${held.map(store).join('\n')}
  }`
}

/** Sums of neighbours meet in shared memory, query by query. */
function finishThrough(shape: PiecesShape, plan: PiecesPlan): string {
  const { sharers, lanes, each, columns, shares } = plan
  const store = (m: number, k: number) => `  sums[${k * lanes}u + lane] = o${m}_${k >> 2}.${LANES[k & 3]};`
  return unrolled(
    sharers,
    (m) => `${unrolled(each, (k) => store(m, k))}
  workgroupBarrier();
  for (var i = lane; i < ${each * columns}u; i += ${lanes}u) {
    var sum = 0.0;
    for (var k = 0u; k < ${shares}u; k++) { sum += sums[i / ${columns}u * ${lanes}u + k * ${columns}u + i % ${columns}u]; }
    ${target(shape, plan, `${m}u`, `i % ${columns}u * ${each}u + i / ${columns}u`)} = sum${shape.split ? '' : ` / total[${m}]`};
  }
  workgroupBarrier();`,
  )
}

/** Beside the sums of a part its greatest score and its weight. */
function statistics({ queries, headSize }: PiecesShape, { sharers }: PiecesPlan): string {
  return `  if (lane < ${sharers}u) {
    let units = rowCount() * ${queries}u * batch[3];
    let to = units * ${headSize}u + 2u * ((row * ${queries}u + id.y * ${sharers}u + lane) * batch[3] + id.z);
    out[to] = most[lane];
    out[to + 1u] = total[lane];
  }`
}
