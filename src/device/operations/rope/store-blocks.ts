/** Stores keys and values in blocks of codes and a scale: an invocation takes a block of a head's key, and of its value. */
import { CACHE_BITS, isPackedCacheType, PACKED_CACHES, type PackedCacheType } from '../../../platform/index.js'
import { CACHE_BLOCK } from '../../contract.js'
import { blockWords, foursPerWord } from '../../gpu/kernels/cache.js'
import { float } from '../../gpu/kernels/kernel.js'
import { BLOCK_QUADS, PACKERS } from './packers.js'
import { type RopeShape, turned } from './rotation.js'

/** The bits of the greatest size in a block whose scale f16 can hold. */
const mostOf = (type: PackedCacheType) => new Uint32Array(Float32Array.of(65504 * PACKED_CACHES[type].most).buffer)[0]!

/**
 * `fn storeBlock(row, position, page, head, block, slot, norm)`: turns the key first, which is multiplied with `norm` and
 * its gains before where heads are normed. `angle`: cosine and sine of pair j at a position.
 */
export function storeBlockFunctions(shape: RopeShape, angle: (position: string, j: string) => string): string {
  const { queries, columns, heads, headSize, epsilon, type } = shape
  if (!isPackedCacheType(type)) return ''
  const half = headSize / 2
  const normed = epsilon !== undefined
  const words = blockWords(shape)
  const fours = foursPerWord(shape)
  const bits = CACHE_BITS[type]
  const wordOf = (values: string, inverse: string) =>
    Array.from(
      { length: fours },
      (_, f) => `(bitsOf(${values}[${fours}u * i + ${f}u], ${inverse}) << ${4 * bits * f}u)`,
    ).join(' | ')
  return /* wgsl */ `${PACKERS[type]}
fn turnedKey(key: u32, i: u32, position: u32, norm: f32) -> f32 {
  let j = i % ${half}u;
  var low = qkv[key + j];
  var high = qkv[key + j + ${half}u];
  ${normed ? `low *= norm * keyGain[j]; high *= norm * keyGain[j + ${half}u];` : ''}
  let turn = ${angle('position', 'j')};
  let cosine = turn.x;
  let sine = turn.y;
  if (i < ${half}u) { return ${turned('low')}; }
  return ${turned('high')};
}
// By their bits, among which infinities and NaN are the greatest.
fn peakOf(values: ptr<function, array<vec4<f32>, ${BLOCK_QUADS}>>) -> u32 {
  var most = vec4<u32>();
  for (var i = 0u; i < ${BLOCK_QUADS}u; i++) { most = max(most, bitcast<vec4<u32>>((*values)[i]) & vec4<u32>(0x7fffffffu)); }
  return max(max(most.x, most.y), max(most.z, most.w));
}
// Of steps so small that it would overflow, f16 holds none.
fn inverseOf(step: f32) -> f32 {
  return select(0.0, 1.0 / step, abs(step) > 1.0e-37);
}
fn bitsOf(values: vec4<f32>, inverse: f32) -> u32 {
  let codes = vec4<u32>(wholeOf(values, inverse)) & vec4<u32>(${2 ** bits - 1}u);
  return codes.x | (codes.y << ${bits}u) | (codes.z << ${2 * bits}u) | (codes.w << ${3 * bits}u);
}
fn storeBlock(row: u32, position: u32, page: u32, head: u32, block: u32, slot: u32, norm: f32) {
  let key = row * ${columns}u + (${queries}u + head) * ${headSize}u;
  let first = block * ${CACHE_BLOCK}u;
  var keys: array<vec4<f32>, ${BLOCK_QUADS}>;
  var values: array<vec4<f32>, ${BLOCK_QUADS}>;
  for (var i = 0u; i < ${BLOCK_QUADS}u; i++) {
    let at = first + 4u * i;
    keys[i] = vec4<f32>(${[0, 1, 2, 3].map((k) => `turnedKey(key, at + ${k}u, position, norm)`).join(', ')});
    let value = key + ${heads * headSize}u + at;
    values[i] = vec4<f32>(${[0, 1, 2, 3].map((k) => `qkv[value + ${k}u]`).join(', ')});
  }
  let peaks = vec2<u32>(peakOf(&keys), peakOf(&values));
  let good = peaks <= vec2<u32>(${mostOf(type)}u);
  let sizes = select(vec2<f32>(), bitcast<vec2<f32>>(peaks), good);
  // What f16 cannot hold becomes NaN: see kernel.ts.
  let steps = vec2<f32>(stepOf(&keys, sizes.x), stepOf(&values, sizes.y));
  let scales = pack2x16float(steps);
  put(scaleWord(page, head, block, slot), select(0x7e00u, scales & 0xffffu, good.x) | select(0x7e000000u, scales & 0xffff0000u, good.y));
  let keyInverse = inverseOf(steps.x);
  let valueInverse = inverseOf(steps.y);
  for (var i = 0u; i < ${words}u; i++) {
    put(keyWord(page, head, block * ${words}u + i, slot), ${wordOf('keys', 'keyInverse')});
    put(valueWord(page, head, block * ${words}u + i, slot), ${wordOf('values', 'valueInverse')});
  }
}
${normed ? normFunction(shape) : ''}`
}

/** The same sum as wherever a head is normed. */
const normFunction = ({ queries, columns, headSize, epsilon }: RopeShape) => /* wgsl */ `
fn keyNormOf(row: u32, head: u32) -> f32 {
  let start = row * ${columns}u + (${queries}u + head) * ${headSize}u;
  var sum = 0.0;
  for (var i = 0u; i < ${headSize}u; i++) { sum = fma(qkv[start + i], qkv[start + i], sum); }
  return inverseSqrt(sum / ${float(headSize)} + ${float(epsilon!)});
}`
