/**
 * How a page of keys and values lies in a layer's buffer, in words: per head keys as [words of a head][16 positions],
 * then per head values as [16 positions][words of a head]. A word has one value, two in f16, or four codes of q8_0; of
 * these there follow the scales per head as [blocks][16 positions], a block's of its key and of its value in a word.
 */
import { CACHE_BLOCK, type CacheType, PAGE } from '../../contract.js'

export interface CacheLayout {
  readonly heads: number
  readonly headSize: number
  readonly type: CacheType
  /** Its pages are those of windows. */
  readonly sliding?: boolean
}

const VALUES: Readonly<Record<CacheType, 1 | 2 | 4>> = { f32: 1, f16: 2, q8_0: 4 }
/** Values of a head in a word. */
export const perWord = ({ type }: CacheLayout): 1 | 2 | 4 => VALUES[type]

export const wordsPerHead = (layout: CacheLayout): number => layout.headSize / perWord(layout)

/** Words of a block of codes. */
export const BLOCK_WORDS = CACHE_BLOCK / VALUES.q8_0

const blocksPerHead = ({ headSize, type }: CacheLayout) => (type === 'q8_0' ? headSize / CACHE_BLOCK : 0)

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

/** Of a word, its four codes. */
export const CODES = /* wgsl */ `
fn codesOf(word: u32) -> vec4<f32> {
  return vec4<f32>(vec4<i32>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}`
