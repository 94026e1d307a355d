import type { TextTokens, VectorModel } from '../../contract/index.js'
import type { NativeVectors } from './library.js'

export interface LlamaCppVectorParts {
  readonly native: NativeVectors
  readonly contextLength: number
  readonly size: number
  readonly fingerprint: string
  readonly release: () => Promise<void>
}

/** Vectors by llama.cpp, pooled as the file says: one text after the other, which is all that its binding does. */
export class LlamaCppVectors implements VectorModel {
  readonly contextLength: number
  readonly batchTokens: number
  readonly batchTexts = 1
  readonly size: number
  readonly fingerprint: string
  readonly #parts: LlamaCppVectorParts

  constructor(parts: LlamaCppVectorParts) {
    this.contextLength = parts.contextLength
    this.batchTokens = parts.contextLength
    this.size = parts.size
    this.fingerprint = parts.fingerprint
    this.#parts = parts
  }

  async vectors(batch: readonly TextTokens[]): Promise<readonly Float32Array[]> {
    const vectors: Float32Array[] = []
    for (const { tokens } of batch) {
      const { vector } = await this.#parts.native.getEmbeddingFor([...tokens])
      vectors.push(Float32Array.from(vector))
    }
    return vectors
  }

  close(): Promise<void> {
    return this.#parts.release()
  }
}
