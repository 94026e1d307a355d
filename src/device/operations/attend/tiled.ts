/**
 * Attention cut for hardware. A workgroup takes the queries of a few neighbouring rows that share a head of keys, and
 * goes over 64 positions at a time: a lane scores a position, then sums a column of the values.
 */

import { CACHE_BLOCK, PAGE } from '../../contract.js'
import {
  blockWords,
  cacheFunctions,
  codesFunction,
  fourOf,
  foursPerWord,
  isPacked,
  perWord,
  wordsPerHead,
} from '../../gpu/kernels/cache.js'
import { capped, declare, float, type GpuTraits, type Kernel, memo, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups, gather } from '../../gpu/kernels/subgroup.js'
import { LOW } from './pieces.js'
import { type AttendShape, maskFunctions, sinkBinding, sunk } from './shape.js'

const LANES = 64

export interface TiledShape extends AttendShape {
  /** Rows of one workgroup. */
  readonly tileRows: number
  /** Few of its queries fit the memory and the registers of a workgroup. */
  readonly large: boolean
}

/** As many rows as fit one workgroup, unless there are `few`: sixteen queries at most, four of large heads. */
export function tiledShapeOf(shape: AttendShape, { tight }: GpuTraits, few: boolean): TiledShape {
  const large = shape.headSize > (tight ? 128 : 256)
  const tileRows = few ? 1 : Math.max(1, Math.floor((large ? 4 : 16) / (shape.queries / shape.heads)))
  return { ...shape, tileRows, large }
}

/** Of the queries that share a head of keys, those of one workgroup. */
export function sharersOf(shape: TiledShape): number {
  const group = shape.queries / shape.heads
  if (!shape.large) return group
  return [4, 3, 2].find((count) => group % count === 0) ?? 1
}

interface Cut {
  /** Queries of a workgroup, padded to a power of two. */
  readonly count: number
  /** Parts of a value's row, of `partOf` values each, that a lane sums, and lanes that share them. */
  readonly columns: number
  readonly shares: number
}

function cutOf(shape: TiledShape): Cut {
  let count = 1
  while (count < shape.tileRows * sharersOf(shape)) count *= 2
  const parts = shape.headSize / partOf(shape)
  return { count, columns: Math.ceil(parts / LANES), shares: Math.max(1, Math.floor(LANES / parts)) }
}

export const tiledKernel = memo(function tiledKernel(shape: TiledShape, traits: GpuTraits): Kernel {
  const { headSize, type } = shape
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['qkv', 'f32', 'r'],
    ['cache', type === 'f32' ? 'f32' : 'u32', 'r'],
    ['out', 'f32', 'w'],
    ...sinkBinding(shape),
  ])
  const { count } = cutOf(shape)
  const cuts = shape.queries / shape.heads / sharersOf(shape)
  const near = Math.min(LANES / count, traits.lanes)
  return {
    name: 'attend tiled',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${META}
${cacheFunctions(shape)}${codesFunction(shape)}
var<workgroup> query: array<f32, ${count * headSize}>;
// Rows enough: at the end they hold the parts of the sums that lanes share.
var<workgroup> scores: array<f32, ${Math.max(sumOf(shape), count) * LANES}>;
var<workgroup> partial: array<f32, ${LANES / near}>;
var<workgroup> fade: array<f32, ${count}>;
var<workgroup> total: array<f32, ${count}>;

${maskFunctions(shape)}

@compute @workgroup_size(${LANES})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let tile = ${shape.large ? 'largeTileOf' : 'tileOf'}(id.x);
  let row = tile & 0xffffu;
  let rows = tile >> 16u;
  let head = id.y / ${cuts}u;
  // Of the query whose scores this lane helps to weigh; all its lanes hold the same.
  let m = lane / ${LANES / count}u;
  var greatest = ${LOW};
  var weight = 0.0;
  let start = firstOf(row);
  let end = lastOf(row + rows - 1u) + 1u;
${loadQueries(shape, count)}
${sums(shape)}
  workgroupBarrier();
  for (var base = start / ${LANES}u * ${LANES}u; base < end; base += ${LANES}u) {
${scoring(shape)}
    workgroupBarrier();
${softmax(shape, near)}
    workgroupBarrier();
${weighing(shape)}
    workgroupBarrier();
  }
  if (lane % ${LANES / count}u == 0u) { total[m] = weight${sunk(shape, `id.y * ${sharersOf(shape)}u + m % ${sharersOf(shape)}u`, 'greatest')}; }
  workgroupBarrier();
${finishing(shape)}
}`,
  }
})

function loadQueries(shape: TiledShape, count: number): string {
  const { columns, headSize, scale } = shape
  const group = sharersOf(shape)
  return `  for (var i = lane; i < ${count * headSize}u; i += ${LANES}u) {
    let m = i / ${headSize}u;
    let valid = m / ${group}u < rows;
    let at = (row + m / ${group}u) * ${columns}u + (id.y * ${group}u + m % ${group}u) * ${headSize}u + i % ${headSize}u;
    query[i] = select(0.0, qkv[select(0u, at, valid)] * ${float(scale)}, valid);
  }`
}

/** Values that a lane sums: those of a word, or four of them. */
const partOf = (shape: TiledShape): number => Math.min(4, perWord(shape))

/** Sums of a lane: two also where only one is used. */
const sumOf = (shape: TiledShape): 2 | 4 => (partOf(shape) === 4 ? 4 : 2)

/** A lane's sums over the values, in registers. */
function sums(shape: TiledShape): string {
  const { count, columns } = cutOf(shape)
  return unrolled(count * columns, (i) => `  var o${i} = vec${sumOf(shape)}<f32>();`)
}

/** A lane scores one position with all queries. */
function scoring(shape: TiledShape): string {
  const { cap } = shape
  const { count } = cutOf(shape)
  const group = sharersOf(shape)
  return `    let position = base + lane;
${unrolled(count, (m) => `    var s${m} = ${LOW};`)}
    if (position >= start && position < end) {
      let word = keyWord(cachePage(row, position / ${PAGE}u), head, 0u, position % ${PAGE}u);
${unrolled(count, (m) => `      s${m} = 0.0;`)}
${isPacked(shape) ? addBlocks(shape) : addNumbers(shape)}
${cap ? unrolled(count, (m) => `      s${m} = ${capped(`s${m}`, cap)};`) : ''}
${unrolled(count, (m) => {
  const own = `row + min(${Math.floor(m / group)}u, rows - 1u)`
  return `      if (position > lastOf(${own}) || position < firstOf(${own})) { s${m} = ${LOW}; }`
})}
    }
${unrolled(count, (m) => `    scores[${m * LANES}u + lane] = s${m};`)}`
}

/** Products of queries with the key that begins at `word`. */
function addNumbers(shape: TiledShape): string {
  const { headSize, type } = shape
  const term = (m: number) =>
    type === 'f16'
      ? `s${m} += query[${m * headSize}u + 2u * i] * key.x + query[${m * headSize}u + 2u * i + 1u] * key.y;`
      : `s${m} += query[${m * headSize}u + i] * key;`
  return `      for (var i = 0u; i < ${wordsPerHead(shape)}u; i++) {
        let key = ${type === 'f16' ? `unpack2x16float(cache[word + i * ${PAGE}u])` : `cache[word + i * ${PAGE}u]`};
${unrolled(cutOf(shape).count, (m) => `        ${term(m)}`)}
      }`
}

function addBlocks(shape: TiledShape): string {
  const { headSize } = shape
  const [words, fours, each] = [blockWords(shape), foursPerWord(shape), perWord(shape)]
  const query = (m: number, f: number) =>
    [0, 1, 2, 3].map((k) => `query[${m * headSize + 4 * f + k}u + ${each}u * i]`).join(', ')
  const four = (f: number) => `          {
            let key = scale * ${fourOf(shape, 'codes', f)};
${unrolled(cutOf(shape).count, (m) => `            s${m} += dot(vec4<f32>(${query(m, f)}), key);`)}
          }`
  return `      let scales = scaleWord(cachePage(row, position / ${PAGE}u), head, 0u, position % ${PAGE}u);
      for (var block = 0u; block < ${headSize / CACHE_BLOCK}u; block++) {
        let scale = unpack2x16float(cache[scales + block * ${PAGE}u]).x;
        for (var i = block * ${words}u; i < (block + 1u) * ${words}u; i++) {
          let codes = cache[word + i * ${PAGE}u];
${unrolled(fours, four)}
        }
      }`
}

/** The lanes share out the queries: each has a stretch of one query's scores. */
function softmax(shape: TiledShape, near: number): string {
  const lanes = LANES / cutOf(shape).count
  return `    let mine = m * ${LANES}u + lane % ${lanes}u;
    let before = greatest;
    var peak = ${LOW};
    for (var i = 0u; i < ${LANES}u; i += ${lanes}u) { peak = max(peak, scores[mine + i]); }
${gather('peak', lanes, near, (a, b) => `max(${a}, ${b})`, '    ')}
    greatest = max(before, peak);
    var sum = 0.0;
    for (var i = 0u; i < ${LANES}u; i += ${lanes}u) {
      let score = scores[mine + i];
      let share = select(exp(score - greatest), 0.0, score <= ${LOW});
      scores[mine + i] = share;
      sum += share;
    }
${gather('sum', lanes, near, (a, b) => `${a} + ${b}`, '    ')}
    weight = weight * exp(before - greatest) + sum;
    if (lane % ${lanes}u == 0u) { fade[m] = exp(before - greatest); }`
}

/** A lane sums columns of the values. Lanes that share a column take every second position, or third, ... */
function weighing(shape: TiledShape): string {
  const { headSize, type } = shape
  const { count, columns, shares } = cutOf(shape)
  const parts = headSize / partOf(shape)
  const column = (c: number) => (shares > 1 ? `lane % ${parts}u` : `lane + ${c * LANES}u`)
  const value = (c: number) => {
    const word = isPacked(shape) ? `(${column(c)}) / ${foursPerWord(shape)}u` : column(c)
    const at = `cache[valueWord(page, head, ${word}, at % ${PAGE}u)]`
    if (type === 'f32') return `vec2<f32>(${at}, 0.0)`
    if (type === 'f16') return `unpack2x16float(${at})`
    const scale = `cache[scaleWord(page, head, (${column(c)}) / ${CACHE_BLOCK / 4}u, at % ${PAGE}u)]`
    return `unpack2x16float(${scale}).y * ${fourOf(shape, at, `(${column(c)})`)}`
  }
  return `${unrolled(count * columns, (i) => `    o${i} *= fade[${Math.floor(i / columns)}];`)}
    for (var i = lane / ${parts}u; i < ${LANES}u; i += ${shares}u) {
      let at = base + i;
      if (${shares > 1 ? `lane >= ${shares * parts}u || ` : ''}at < start) { continue; }
      if (at >= end) { break; }
      let page = cachePage(row, at / ${PAGE}u);
${unrolled(columns, (c) => {
  const sum = unrolled(count, (m) => `        o${m * columns + c} += scores[${m * LANES}u + i] * v;`)
  const guard = columns * LANES === parts || shares > 1 ? '' : `if (${column(c)} < ${parts}u) `
  return `      ${guard}{
        let v = ${value(c)};
${sum}
      }`
})}
    }`.replace(`lane / ${parts}u;`, shares > 1 ? `lane / ${parts}u;` : '0u;')
}

/** Lanes that shared a column add up. */
function finishing(shape: TiledShape): string {
  const { queries, headSize } = shape
  const { columns, shares } = cutOf(shape)
  const group = sharersOf(shape)
  const each = partOf(shape)
  const parts = headSize / each
  const sums = ['x', 'y', 'z', 'w'].slice(0, sumOf(shape))
  const row = (i: number) => (i === 0 ? '' : `${i * LANES}u + `)
  const one = (m: number, c: number) => {
    const column = shares > 1 ? 'lane' : `(lane + ${c * LANES}u)`
    const gather =
      shares > 1
        ? `${sums.map((part, i) => `scores[${row(i)}lane] = o${m}.${part};`).join(' ')}
    workgroupBarrier();
    if (lane < ${parts}u) {
      for (var i = 1u; i < ${shares}u; i++) { o${m} += vec${sums.length}<f32>(${sums.map((_, k) => `scores[${row(k)}lane + i * ${parts}u]`).join(', ')}); }
    }
    workgroupBarrier();`
        : ''
    const value = `(o${m * columns + c} / total[${m}])`
    return `  {
    ${gather}
    if (${Math.floor(m / group)}u < rows && ${column} < ${parts}u) {
      let unit = (row + ${Math.floor(m / group)}u) * ${queries}u + id.y * ${group}u + ${m % group}u;
      out[unit * ${headSize}u + ${column} * ${each}u] = ${value}.x;
      ${sums
        .slice(1, each)
        .map((part, i) => `out[unit * ${headSize}u + ${column} * ${each}u + ${i + 1}u] = ${value}.${part};`)
        .join('\n      ')}
    }
  }`
  }
  return unrolled(group * shape.tileRows, (m) => unrolled(columns, (c) => one(m, c)))
}
