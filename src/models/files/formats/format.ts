/** What one format is: a file each beside this one, and a line in `index.ts`. */
import type { TextFiles } from '../../../generate/index.js'
import type { RepositoryFiles, WantedFile } from '../files.js'
import type { WeightOutline, WeightSource } from '../source.js'

export interface RepositoryFormat {
  readonly name: string
  /** What it is known by, for messages. */
  readonly mark: string
  /** Reads what describes the model, and no weights; undefined where the files are of another format. */
  detect(files: RepositoryFiles, signal: AbortSignal): Promise<FoundModel | undefined>
}

/** A model whose description has been read. */
export interface FoundModel {
  readonly text: TextFiles
  /** Files that must be whole before weights are read: for a download, and to see whether all of it is kept. */
  readonly wanted: readonly WantedFile[]
  /** What the weights will be. Throws at what cannot be read. */
  outline(): WeightOutline
  /** Once all that is wanted is here. */
  open(): WeightSource
}
