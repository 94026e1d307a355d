/** The VectorModel over a compute device: batches of texts in, a vector for each out. */
import type { TextTokens, VectorModel } from '../../../encode/vector-model.js'
import { type Batch, type Device, PAGE, type Pass, type Span } from '../contract.js'

/** What turns the rows of a batch into vectors, layer by layer. */
export interface RowEncoder {
  readonly layers: number
  /** Multiplications of a row in one layer. */
  readonly work: number
  begin(pass: Pass): void
  layer(pass: Pass, index: number): void
  /** The vectors, a row each, of texts whose last rows are `lasts`. */
  end(pass: Pass, lasts: Int32Array): Promise<Float32Array>
}

export interface VectorCoreParts extends Pick<VectorModel, 'contextLength' | 'batchTokens' | 'batchTexts' | 'size'> {
  readonly device: Device
  readonly encoder: RowEncoder
  /** Rows of the table of places for each of two texts. */
  readonly placesOfText: number
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
    const rehearse = (begin: (batch: Batch) => Pass, batch: readonly TextTokens[]) => {
      const { spans, lasts } = this.#lay(batch)
      const pass = begin({ spans })
      this.#record(pass, 0, this.#parts.encoder.layers, lasts)
    }
    await device.prepare((begin) => {
      rehearse(begin, [{ tokens: new Array<number>(2).fill(0) }])
      rehearse(
        begin,
        Array.from({ length: 2 }, () => ({ tokens: new Array<number>(long).fill(0) })),
      )
    }, onProgress)
  }

  async vectors(batch: readonly TextTokens[]): Promise<readonly Float32Array[]> {
    if (this.#closed) throw new Error('This model is closed.')
    const { device, encoder } = this.#parts
    const { spans, lasts, rows } = this.#lay(batch)
    const perTurn = device.info.kind === 'cpu' ? Math.max(1, Math.floor(TURN / (rows * encoder.work))) : encoder.layers
    for (let from = 0; ; from += perTurn) {
      const to = Math.min(encoder.layers, from + perTurn)
      const pass = device.begin({ spans })
      const read = this.#record(pass, from, to, lasts)
      await pass.submit()
      if (read) {
        const values = await read
        return batch.map((_, i) => values.slice(i * this.size, (i + 1) * this.size))
      }
    }
  }

  /** Layers `from` to before `to`; after the last the vectors are read. */
  #record(pass: Pass, from: number, to: number, lasts: Int32Array): Promise<Float32Array> | undefined {
    const { encoder } = this.#parts
    if (from === 0) encoder.begin(pass)
    for (let i = from; i < to; i++) encoder.layer(pass, i)
    return to === encoder.layers ? encoder.end(pass, lasts) : undefined
  }

  /** Texts one after the other, each on pages of its own. */
  #lay(batch: readonly TextTokens[]): { spans: Span[]; lasts: Int32Array; rows: number } {
    const spans: Span[] = []
    const lasts = new Int32Array(batch.length)
    let page = 0
    let rows = 0
    for (const [i, { tokens, types }] of batch.entries()) {
      const pages = Int32Array.from({ length: Math.ceil(tokens.length / PAGE) }, () => page++)
      const places = types && Int32Array.from(types, (type, at) => type * this.#parts.placesOfText + at)
      spans.push({ tokens: Int32Array.from(tokens), position: 0, pages, places })
      rows += tokens.length
      lasts[i] = rows - 1
    }
    return { spans, lasts, rows }
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
