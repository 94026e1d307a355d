/**
 * Rope as a part of attention: where every sequence has one row, the workgroup that attends to a head of keys also
 * turns its queries, and turns and stores its key and value first. A dispatch less for each layer of each step, with the
 * arithmetic of `kernel.ts`.
 */
import { CACHE_BLOCK, PAGE } from '../../contract.js'
import { isPacked, wordsPerHead } from '../../gpu/kernels/cache.js'
import type { Binding } from '../../gpu/kernels/formats.js'
import { float } from '../../gpu/kernels/kernel.js'
import { putFunction, storeFunctions } from './kernel.js'
import { grown, type RopeShape, turned } from './rotation.js'
import { storeBlockFunctions } from './store-blocks.js'

/** Bindings of what it reads besides what attention has. */
export function ropeBindings({ epsilon }: RopeShape): Binding[] {
  const angles: Binding = ['angles', 'vec2<f32>', 'r']
  return epsilon === undefined ? [angles] : [angles, ['queryGain', 'f32', 'r'], ['keyGain', 'f32', 'r']]
}

export function ropeFunctions(shape: RopeShape): string {
  const { queries, heads, epsilon } = shape
  const scales = epsilon === undefined ? '' : `var<workgroup> headScales: array<f32, ${queries / heads + 1}>;`
  const angle = (position: string, j: string) => `angles[${position} * ${shape.headSize / 2}u + ${j}]`
  if (!isPacked(shape)) return `${storeFunctions(shape, true)}\n${scales}`
  return `${putFunction(shape, true)}\n${storeBlockFunctions(shape, angle)}\n${scales}`
}

/** Fills `query` for `count` queries, and stores key and value. */
export function inAttention(shape: RopeShape, scale: number, count: number, lanes: number): string {
  const { queries, columns, heads, headSize, epsilon } = shape
  const group = queries / heads
  const half = headSize / 2
  const normed = epsilon !== undefined
  return /* wgsl */ `
  let own = positionOf(row);
  let begin = row * ${columns}u;
  ${normed ? headNorms(shape, lanes) : ''}
  for (var i = lane; i < ${count * half}u; i += ${lanes}u) {
    let m = i / ${half}u;
    let j = i % ${half}u;
    let at = begin + (head * ${group}u + min(m, ${group - 1}u)) * ${headSize}u + j;
    var low = qkv[at];
    var high = qkv[at + ${half}u];
    ${normed ? gained('query', 'm', ['j', `j + ${half}u`], 'f32') : ''}
    let cosine = angles[own * ${half}u + j].x;
    let sine = angles[own * ${half}u + j].y;
    query[m * ${headSize}u + j] = select(0.0, ${turned('low')} * ${float(scale)}${grown(shape, 'own')}, m < ${group}u);
    query[m * ${headSize}u + j + ${half}u] = select(0.0, ${turned('high')} * ${float(scale)}${grown(shape, 'own')}, m < ${group}u);
  }
  ${shape.queriesOnly ? '' : isPacked(shape) ? storingBlocks(shape, lanes) : storing(shape, lanes)}
  storageBarrier();`
}

/** Of the group's key and value, if their position is this workgroup's. */
function storing(shape: RopeShape, lanes: number): string {
  const { queries, heads, headSize, epsilon } = shape
  const group = queries / heads
  const half = headSize / 2
  return `if (own >= start && own < end) {
    let page = cachePage(row, own / ${PAGE}u);
    let slot = own % ${PAGE}u;
    let key = begin + (${queries}u + head) * ${headSize}u;
    let value = begin + (${queries + heads}u + head) * ${headSize}u;
    for (var j = lane; j < ${headSize / 4}u; j += ${lanes}u) {
      let at = key + 2u * j;
      var low = vec2<f32>(qkv[at], qkv[at + 1u]);
      var high = vec2<f32>(qkv[at + ${half}u], qkv[at + ${half + 1}u]);
      ${epsilon === undefined ? '' : gained('key', `${group}u`, ['2u * j', `2u * j + ${half}u`], 'vec2<f32>')}
      let first = angles[own * ${half}u + 2u * j];
      let second = angles[own * ${half}u + 2u * j + 1u];
      let cosine = vec2<f32>(first.x, second.x);
      let sine = vec2<f32>(first.y, second.y);
      storeKey(page, head, j, slot, ${turned('low')});
      storeKey(page, head, j + ${headSize / 4}u, slot, ${turned('high')});
    }
    for (var j = lane; j < ${wordsPerHead(shape) / 4}u; j += ${lanes}u) {
      cache[valueWord(page, head, 4u * j, slot) / 4u] = ${fourWords(shape, 'value')};
    }
  }`
}

/** Words of values 4 j to 4 j + 3, stored by one invocation. */
function fourWords(shape: RopeShape, from: string): string {
  const word = (i: number) => {
    if (shape.type === 'f32') return `qkv[${from} + 4u * j + ${i}u]`
    const at = `${from} + 8u * j + ${2 * i}u`
    return `halvesOf(vec2<f32>(qkv[${at}], qkv[${at} + 1u]))`
  }
  return `vec4<${shape.type === 'f32' ? 'f32' : 'u32'}>(${[0, 1, 2, 3].map(word).join(', ')})`
}

/** The same in blocks. */
function storingBlocks({ queries, heads, headSize, epsilon }: RopeShape, lanes: number): string {
  const norm = epsilon === undefined ? '1.0' : `headScales[${queries / heads}u]`
  return `if (own >= start && own < end) {
    for (var j = lane; j < ${headSize / CACHE_BLOCK}u; j += ${lanes}u) {
      storeBlock(row, own, cachePage(row, own / ${PAGE}u), head, j, own % ${PAGE}u, ${norm});
    }
  }`
}

/** The scales of the group's queries, and last of its key. */
function headNorms({ queries, heads, headSize, epsilon, queriesOnly }: RopeShape, lanes: number): string {
  const group = queries / heads
  return `for (var i = lane; i < ${queriesOnly ? group : group + 1}u; i += ${lanes}u) {
    let own = begin + select(${queries}u + head, head * ${group}u + i, i < ${group}u) * ${headSize}u;
    var sum = 0.0;
    for (var k = 0u; k < ${headSize}u; k++) { sum = fma(qkv[own + k], qkv[own + k], sum); }
    headScales[i] = inverseSqrt(sum / ${float(headSize)} + ${float(epsilon!)});
  }
  workgroupBarrier();`
}

function gained(side: 'query' | 'key', head: string, places: readonly [string, string], type: string): string {
  const gain = (place: string) =>
    type === 'f32' ? `${side}Gain[${place}]` : `${type}(${side}Gain[${place}], ${side}Gain[${place} + 1u])`
  return `low *= headScales[${head}] * ${gain(places[0])};
    high *= headScales[${head}] * ${gain(places[1])};`
}
