/** The VectorModel over a compute device: batches of texts in, a vector for each out. */
import type { TextTokens, VectorModel } from '../contract/index.js'
import { type Batch, type Device, NO_STATE, PAGE, type Pass, type Span } from '../device/index.js'

/** What turns the rows of a batch into vectors, layer by layer. */
export interface RowEncoder {
  readonly layers: number
  /** Multiplications of a row in one layer. */
  readonly work: number
  /** A layer from which on heads are shared otherwise than before: no pass computes both. */
  readonly border?: number | undefined
  /** Texts have states, of which each needs a slot. */
  readonly states?: boolean
  begin(pass: Pass): void
  layer(pass: Pass, index: number): void
  /** The vectors, a row each: one for each text, or for each mark; undefined: `decider` makes them. */
  end(pass: Pass, laid: Laid): Promise<Float32Array> | undefined
  /** What makes them in passes of its own, once all layers are done. */
  readonly decider?: {
    scores(spans: readonly Span[], batch: readonly TextTokens[]): Promise<readonly Float32Array[]>
    /** Records what scores are made by, in passes of these spans; nothing is run. */
    rehearse(begin: (batch: Batch) => Pass, spans: readonly Span[]): void
  }
}

/** Where things lie among the rows of a batch: the last row of each text, and all that are marked. */
export interface Laid {
  readonly lasts: Int32Array
  readonly marks: Int32Array
}

export interface VectorCoreParts extends Pick<VectorModel, 'contextLength' | 'batchTokens' | 'batchTexts' | 'size'> {
  readonly device: Device
  readonly encoder: RowEncoder
  /** The row of the table of places that a token has by its type. */
  placeOf(type: number, at: number): number
  readonly fingerprint: string
  /** Frees all that was made on the device. */
  readonly release: () => void
}

/**
 * Multiplications after which a processor lets others have their turn: some 50 ms of one thread. A GPU has a queue of its
 * own.
 */
const TURN = 2 ** 29

export class VectorCore implements VectorModel {
  readonly contextLength: number
  readonly batchTokens: number
  readonly batchTexts: number
  readonly size: number
  readonly fingerprint: string
  readonly #parts: VectorCoreParts
  #closed = false

  constructor(parts: VectorCoreParts) {
    this.contextLength = parts.contextLength
    this.batchTokens = parts.batchTokens
    this.batchTexts = parts.batchTexts
    this.size = parts.size
    this.fingerprint = parts.fingerprint
    this.#parts = parts
  }

  /** Compiles what a batch of several texts needs, and what a short one does. */
  async prepare(onProgress?: (done: number, of: number) => void): Promise<void> {
    const { device } = this.#parts
    if (!device.prepare) return
    const long = Math.min(64, this.contextLength)
    const text = (length: number): TextTokens => {
      const zeros = new Array<number>(length).fill(0)
      return { tokens: zeros, types: zeros, marks: [0] }
    }
    const rehearse = (begin: (batch: Batch) => Pass, batch: readonly TextTokens[]) => {
      const { spans, laid } = this.#lay(batch)
      const { layers, border = layers } = this.#parts.encoder
      this.#record(begin({ spans, steady: true }), 0, border, laid)
      if (border < layers) this.#record(begin({ spans, steady: true }), border, layers, laid)
      this.#parts.encoder.decider?.rehearse(begin, spans)
    }
    await device.prepare((begin) => {
      rehearse(begin, [text(2)])
      rehearse(begin, [text(long), text(long)])
    }, onProgress)
  }

  async vectors(batch: readonly TextTokens[]): Promise<readonly Float32Array[]> {
    if (this.#closed) throw new Error('This model is closed.')
    const { device, encoder } = this.#parts
    const { spans, laid, rows } = this.#lay(batch)
    const perTurn = device.info.kind === 'cpu' ? Math.max(1, Math.floor(TURN / (rows * encoder.work))) : encoder.layers
    const { layers, border = layers } = encoder
    for (let from = 0, to = 0; ; from = to) {
      to = Math.min(from < border ? border : layers, from + perTurn)
      const pass = device.begin({ spans, steady: true })
      const read = this.#record(pass, from, to, laid)
      await pass.submit()
      if (to === layers && encoder.decider) return encoder.decider.scores(spans, batch)
      if (read) {
        const values = await read
        let at = 0
        return batch.map(({ marks }) => {
          const from = at
          at += (marks?.length ?? 1) * this.size
          return values.slice(from, at)
        })
      }
    }
  }

  /** Layers `from` to before `to`; after the last the vectors are read. */
  #record(pass: Pass, from: number, to: number, laid: Laid): Promise<Float32Array> | undefined {
    const { encoder } = this.#parts
    if (from === 0) encoder.begin(pass)
    for (let i = from; i < to; i++) encoder.layer(pass, i)
    return to === encoder.layers ? encoder.end(pass, laid) : undefined
  }

  /** Texts one after the other, each on pages of its own. */
  #lay(batch: readonly TextTokens[]): { spans: Span[]; laid: Laid; rows: number } {
    const spans: Span[] = []
    const lasts = new Int32Array(batch.length)
    const marked: number[] = []
    let page = 0
    let rows = 0
    for (const [i, { tokens, types, marks = [] }] of batch.entries()) {
      const pages = Int32Array.from({ length: Math.ceil(tokens.length / PAGE) }, () => page++)
      const places = types && Int32Array.from(types, (type, at) => this.#parts.placeOf(type, at))
      const state = this.#parts.encoder.states && { state: { from: NO_STATE, to: i } }
      spans.push({ tokens: Int32Array.from(tokens), position: 0, pages, places, ...state })
      for (const at of marks) marked.push(rows + at)
      rows += tokens.length
      lasts[i] = rows - 1
    }
    return { spans, laid: { lasts, marks: Int32Array.from(marked) }, rows }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { device, release } = this.#parts
    // Work in flight may still write into the buffers. A lost device has none.
    await device.idle().catch(() => undefined)
    release()
  }
}
