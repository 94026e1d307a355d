/**
 * How a page of keys and values lies in a layer's buffer, in words: per head keys as [values of a head][16 positions],
 * then per head values as [16 positions][values of a head]. f16 packs two values of a head into a word.
 */
import { PAGE } from '../../contract.js'

export interface CacheLayout {
  readonly heads: number
  readonly headSize: number
  readonly half: boolean
  /** Its pages are those of windows. */
  readonly sliding?: boolean
}

export function wordsPerHead({ headSize, half }: CacheLayout): number {
  return half ? headSize / 2 : headSize
}

export function pageWords(layout: CacheLayout): number {
  return 2 * layout.heads * wordsPerHead(layout) * PAGE
}

/** `fn cachePage(row, index)`; `fn keyWord(page, head, word, slot)` and `fn valueWord(...)`: indices of words. */
export function cacheFunctions(layout: CacheLayout): string {
  const words = wordsPerHead(layout)
  return /* wgsl */ `
fn cachePage(row: u32, index: u32) -> u32 { return ${layout.sliding ? 'windowPageOf' : 'pageOf'}(row, index); }
fn keyWord(page: u32, head: u32, word: u32, slot: u32) -> u32 {
  return page * ${pageWords(layout)}u + (head * ${words}u + word) * ${PAGE}u + slot;
}
fn valueWord(page: u32, head: u32, word: u32, slot: u32) -> u32 {
  return page * ${pageWords(layout)}u + ((${layout.heads}u + head) * ${PAGE}u + slot) * ${words}u + word;
}`
}
