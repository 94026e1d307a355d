/** The layers of a decoder over whole texts: of models that make vectors, or scores at marks, in place of text. */
import type { TextTokens } from '../../contract/index.js'
import type { Device, Pass, Span } from '../../device/index.js'
import { DecoderRows, type DecoderRowsParts } from '../decoder-rows.js'
import type { Laid, RowEncoder } from '../vector-core.js'
import type { Trunk } from './decision-encoder.js'
import type { JointHead } from './joint-head.js'
import type { VectorHead } from './vector-head.js'

/** A vector of each text: its rows through the last norm, pooled. */
export class PooledDecoder extends DecoderRows implements RowEncoder {
  readonly #head: VectorHead

  constructor(device: Device, parts: DecoderRowsParts & { readonly head: VectorHead }, rows: number) {
    super(device, parts, rows)
    this.#head = parts.head
  }

  end(pass: Pass, { lasts }: Laid): Promise<Float32Array> {
    return this.#head.read(pass, this.decoder.normed(pass), lasts)
  }

  override destroy(): void {
    super.destroy()
    this.#head.destroy()
  }
}

/** Scores of all options that a text has, by a head that decides its questions together. */
export class JointDecoder extends DecoderRows implements RowEncoder {
  readonly states: boolean
  readonly decider: NonNullable<RowEncoder['decider']>
  readonly #head: JointHead

  constructor(device: Device, parts: DecoderRowsParts & { readonly head: JointHead }, rows: number) {
    super(device, parts, rows)
    const { head } = parts
    this.#head = head
    this.states = parts.kept.states !== undefined
    this.decider = {
      scores: (spans: readonly Span[], batch: readonly TextTokens[]) => head.scores(this.decoder.hidden, spans, batch),
      rehearse: (begin, spans) => head.rehearse(begin, this.decoder.hidden, spans),
    }
  }

  end(pass: Pass): undefined {
    this.#head.remember(pass, this.decoder.normed(pass))
  }

  override destroy(): void {
    super.destroy()
    this.#head.destroy()
  }
}

/** All of its rows, for a head that has more layers. */
export class DecoderTrunk extends DecoderRows implements Trunk {
  readonly room: Trunk['room']
  readonly apart = true

  constructor(device: Device, parts: DecoderRowsParts, rows: number) {
    super(device, parts, rows)
    const { hidden } = parts.model
    this.room = {
      hidden: this.decoder.hidden,
      normed: device.activations(rows, hidden),
      qkv: device.activations(rows, 3 * hidden),
      seen: device.activations(rows, hidden),
    }
  }

  finish(pass: Pass): void {
    this.decoder.normed(pass)
  }

  override destroy(): void {
    const { hidden: _, ...own } = this.room
    for (const activations of Object.values(own)) activations.destroy()
    super.destroy()
  }
}
