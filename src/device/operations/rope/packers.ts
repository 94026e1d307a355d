/** WGSL: how the codes of a block of keys or values are made, for each way to pack them. */
import type { PackedCacheType } from '../../../platform/index.js'
import { CACHE_BLOCK } from '../../contract.js'

/** Vectors of four of a block. */
export const BLOCK_QUADS = CACHE_BLOCK / 4

/**
 * `fn stepOf(values, size)`: what codes are multiples of, where the greatest of the block's sizes is `size`;
 * `fn wholeOf(values, inverse)`: the codes of four values, which `inverse` steps are in one.
 */
export const PACKERS: Readonly<Record<PackedCacheType, string>> = {
  q8_0: /* wgsl */ `
fn stepOf(values: ptr<function, array<vec4<f32>, ${BLOCK_QUADS}>>, size: f32) -> f32 { return size / 127.0; }
fn wholeOf(values: vec4<f32>, inverse: f32) -> vec4<i32> { return vec4<i32>(round(values * inverse)); }`,
  // The first of those with the greatest size decides the sign; the last that is looked at here.
  q4_0: /* wgsl */ `
fn stepOf(values: ptr<function, array<vec4<f32>, ${BLOCK_QUADS}>>, size: f32) -> f32 {
  var most = size;
  for (var i = ${BLOCK_QUADS}u; i > 0u; i--) {
    let four = (*values)[i - 1u];
    for (var k = 4u; k > 0u; k--) { if (abs(four[k - 1u]) == size) { most = four[k - 1u]; } }
  }
  return most / -8.0;
}
fn wholeOf(values: vec4<f32>, inverse: f32) -> vec4<i32> {
  return min(vec4<i32>(floor(values * inverse + 8.5)), vec4<i32>(15)) - vec4<i32>(8);
}`,
}
