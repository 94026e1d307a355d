/**
 * How a page of keys and values lies in a layer's buffer, in words: per head keys as [words of a head][16 positions],
 * then per head values as [16 positions][words of a head]. A word has one value, two in f16, or as many codes as there is
 * room for, the first in the lowest bits; of these there follow the scales per head as [blocks][16 positions], a block's of
 * its key and of its value in a word.
 */
import { CACHE_BITS, isPackedCacheType } from '../../../platform/index.js'
import { CACHE_BLOCK, type CacheType, PAGE } from '../../contract.js'

export interface CacheLayout {
  readonly heads: number
  readonly headSize: number
  readonly type: CacheType
  /** Its pages are those of windows. */
  readonly sliding?: boolean
}

type Kept = Pick<CacheLayout, 'type'>

/** Whether values are codes, in blocks that have a scale. */
export const isPacked = ({ type }: Kept): boolean => isPackedCacheType(type)

/** Values of a head in a word. */
export const perWord = ({ type }: Kept): number => 32 / CACHE_BITS[type]

export const wordsPerHead = (layout: CacheLayout): number => layout.headSize / perWord(layout)

/** Words of a block of codes. */
export const blockWords = (kept: Kept): number => CACHE_BLOCK / perWord(kept)

const blocksPerHead = (layout: CacheLayout) => (isPacked(layout) ? layout.headSize / CACHE_BLOCK : 0)

export function pageWords(layout: CacheLayout): number {
  return layout.heads * (2 * wordsPerHead(layout) + blocksPerHead(layout)) * PAGE
}

/**
 * `fn cachePage(row, index)`; `fn keyWord(page, head, word, slot)` and `fn valueWord(...)`: indices of words; of blocks also
 * `fn scaleWord(page, head, block, slot)`.
 */
export function cacheFunctions(layout: CacheLayout): string {
  const words = wordsPerHead(layout)
  const blocks = blocksPerHead(layout)
  const scales = /* wgsl */ `
fn scaleWord(page: u32, head: u32, block: u32, slot: u32) -> u32 {
  return page * ${pageWords(layout)}u + (${2 * layout.heads * words}u + head * ${blocks}u + block) * ${PAGE}u + slot;
}`
  return /* wgsl */ `
fn cachePage(row: u32, index: u32) -> u32 { return ${layout.sliding ? 'windowPageOf' : 'pageOf'}(row, index); }
fn keyWord(page: u32, head: u32, word: u32, slot: u32) -> u32 {
  return page * ${pageWords(layout)}u + (head * ${words}u + word) * ${PAGE}u + slot;
}
fn valueWord(page: u32, head: u32, word: u32, slot: u32) -> u32 {
  return page * ${pageWords(layout)}u + ((${layout.heads}u + head) * ${PAGE}u + slot) * ${words}u + word;
}${blocks > 0 ? scales : ''}`
}

/** WGSL: the code at `index` of each of four words. */
export function codeOf(kept: Kept, words: string, index: number): string {
  const bits = CACHE_BITS[kept.type]
  return `vec4<f32>(vec4<i32>(${words} << vec4<u32>(${32 - bits * (index + 1)}u)) >> vec4<u32>(${32 - bits}u))`
}

/** `fn codesOf(word)`: its first four codes; of what is not packed nothing. */
export function codesFunction(kept: Kept): string {
  if (!isPacked(kept)) return ''
  const bits = CACHE_BITS[kept.type]
  const shifts = [1, 2, 3, 4].map((count) => `${32 - bits * count}u`).join(', ')
  return /* wgsl */ `
fn codesOf(word: u32) -> vec4<f32> {
  return vec4<f32>(vec4<i32>(vec4<u32>(word) << vec4<u32>(${shifts})) >> vec4<u32>(${32 - bits}u));
}`
}

/** Fours of codes in a word. */
export const foursPerWord = (kept: Kept): number => perWord(kept) / 4

/** WGSL: the four codes of a word that four `four` of the head, a number or an expression, is. */
export function fourOf(kept: Kept, word: string, four: number | string): string {
  const fours = foursPerWord(kept)
  if (fours === 1 || (typeof four === 'number' && four % fours === 0)) return `codesOf(${word})`
  return `codesOf(${word} >> (${4 * CACHE_BITS[kept.type]}u * (${typeof four === 'number' ? `${four}u` : four} % ${fours}u)))`
}
