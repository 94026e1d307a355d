/** One model with guesses and without, each pass of it watched: what strict extraction is measured on. */
import type { Device } from '../device/index.js'
import type { OpenedRepository } from '../engines/index.js'
import { ChatText, DecodeLoop, type TextFiles } from '../generate/index.js'
import { loadCore } from '../models/index.js'
import { type WatchedAnswer, watched, watchOf } from './watched-model.js'

export interface ExtractionUnderTest {
  /** As users have it. */
  readonly plain: DecodeLoop
  /** Watched, without guesses from the prompt and with them. */
  readonly never: DecodeLoop
  readonly guessing: DecodeLoop
  readonly watch: WatchedAnswer
  /** What it writes means nothing: it is led along the right answer. */
  readonly led: boolean
  close(): Promise<void>
}

export interface ExtractionParts {
  readonly openDevice: () => Promise<Device>
  readonly weights: OpenedRepository['weights']
  readonly text: TextFiles
  readonly led: boolean
  /** @default 'gaining', as users have it */
  readonly drafts?: 'gaining' | 'always'
}

const SIZES = { contextLength: 2048, cacheTokens: 8192, maxBatch: 8 }

export async function openExtraction({
  openDevice,
  weights,
  text: files,
  led,
  drafts = 'gaining',
}: ExtractionParts): Promise<ExtractionUnderTest> {
  const text = new ChatText(files)
  const device = await openDevice()
  const core = await loadCore(device, weights, { ...SIZES, tokens: text.tokenizer.size })
  const watch = watchOf(text)
  const model = watched(core, watch)
  return {
    plain: new DecodeLoop(core, text, { drafts: 'never' }),
    never: new DecodeLoop(model, text, { drafts: 'never' }),
    guessing: new DecodeLoop(model, text, { drafts }),
    watch,
    led,
    async close() {
      await core.close()
      device.destroy()
    },
  }
}
