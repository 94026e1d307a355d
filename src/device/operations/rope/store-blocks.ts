/** Stores keys and values in blocks of codes and a scale: an invocation takes a block of a head's key, and of its value. */
import { CACHE_BLOCK } from '../../contract.js'
import { BLOCK_WORDS } from '../../gpu/kernels/cache.js'
import { float } from '../../gpu/kernels/kernel.js'
import { type RopeShape, turned } from './rotation.js'

/** The bits of the greatest size in a block whose scale f16 can hold. */
const MOST = new Uint32Array(Float32Array.of(65504 * 127).buffer)[0]!

/**
 * `fn storeBlock(row, position, page, head, block, slot, norm)`: turns the key first, which is multiplied with `norm` and
 * its gains before where heads are normed. `angle`: cosine and sine of pair j at a position.
 */
export function storeBlockFunctions(shape: RopeShape, angle: (position: string, j: string) => string): string {
  const { queries, columns, heads, headSize, epsilon } = shape
  const half = headSize / 2
  const normed = epsilon !== undefined
  return /* wgsl */ `
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
fn peakOf(values: ptr<function, array<vec4<f32>, ${BLOCK_WORDS}>>) -> u32 {
  var most = vec4<u32>();
  for (var i = 0u; i < ${BLOCK_WORDS}u; i++) { most = max(most, bitcast<vec4<u32>>((*values)[i]) & vec4<u32>(0x7fffffffu)); }
  return max(max(most.x, most.y), max(most.z, most.w));
}
fn inverseOf(peak: f32) -> f32 {
  return select(0.0, 1.0 / (peak / 127.0), peak > 1.0e-35);
}
fn wordOf(values: vec4<f32>, inverse: f32) -> u32 {
  let codes = vec4<u32>(vec4<i32>(round(values * inverse))) & vec4<u32>(0xffu);
  return codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
}
fn storeBlock(row: u32, position: u32, page: u32, head: u32, block: u32, slot: u32, norm: f32) {
  let key = row * ${columns}u + (${queries}u + head) * ${headSize}u;
  let first = block * ${CACHE_BLOCK}u;
  var keys: array<vec4<f32>, ${BLOCK_WORDS}>;
  var values: array<vec4<f32>, ${BLOCK_WORDS}>;
  for (var i = 0u; i < ${BLOCK_WORDS}u; i++) {
    let at = first + 4u * i;
    keys[i] = vec4<f32>(${[0, 1, 2, 3].map((k) => `turnedKey(key, at + ${k}u, position, norm)`).join(', ')});
    let value = key + ${heads * headSize}u + at;
    values[i] = vec4<f32>(${[0, 1, 2, 3].map((k) => `qkv[value + ${k}u]`).join(', ')});
  }
  let peaks = vec2<u32>(peakOf(&keys), peakOf(&values));
  let good = peaks <= vec2<u32>(${MOST}u);
  let sizes = select(vec2<f32>(), bitcast<vec2<f32>>(peaks), good);
  // What f16 cannot hold becomes NaN: see kernel.ts.
  let scales = pack2x16float(sizes / 127.0);
  put(scaleWord(page, head, block, slot), select(0x7e00u, scales & 0xffffu, good.x) | select(0x7e000000u, scales & 0xffff0000u, good.y));
  let keyInverse = inverseOf(sizes.x);
  let valueInverse = inverseOf(sizes.y);
  for (var i = 0u; i < ${BLOCK_WORDS}u; i++) {
    put(keyWord(page, head, block * ${BLOCK_WORDS}u + i, slot), wordOf(keys[i], keyInverse));
    put(valueWord(page, head, block * ${BLOCK_WORDS}u + i, slot), wordOf(values[i], valueInverse));
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
