/** Where downloaded files are kept, by their address. */
export interface FileStore {
  /** `sha256`: of the file that is wanted, where it is known. */
  read(url: string, sha256?: string): Promise<StoredFile | undefined>
  /** Where it keeps a file on this disk. Absent: it does not keep them there. */
  pathOf?(url: string): string
  /** Begins a file, or goes on where an earlier download of it broke off. */
  write(url: string, sha256?: string): Promise<FileWriter>
  /** It finds files by their hashes: these are asked for where a repository names others. */
  readonly asksForHashes?: true
  /** Bytes of the whole files whose addresses begin with `base`, which ends with a slash. */
  kept(base: string): Promise<number>
  /** Every repository of which something is kept. */
  repositories(): Promise<readonly KeptRepository[]>
  /** Bytes that may still be kept, where that is known. */
  room(): Promise<number | undefined>
  /** What finds no room is used all the same, and not kept. */
  readonly keepsIfItCan?: true
  /** Deletes all files below `base`, begun ones too. */
  forget(base: string): Promise<void>
}

export interface KeptRepository {
  /** What the addresses of its files begin with. */
  readonly base: string
  readonly bytes: number
  /** Absent: nobody noted it. */
  readonly usedAt?: Date
}

/** What is noted of a repository when it is opened, in a file of its own beside the others. */
export const USED = '.used'
/** What a cache in fewer bits was found to cost a model, by its identity. */
export const COST = '.cache-cost'

/** Whether a path or an address is that of such a file: none of the repository's own. */
export const isNote = (path: string): boolean => [USED, COST].includes(path.slice(path.lastIndexOf('/') + 1))

/** Beside a model. That there is no room, or that another process deletes it meanwhile, is no fault of the model's. */
export async function noteText(store: FileStore, url: string, text: string): Promise<void> {
  try {
    const writer = await store.write(url)
    try {
      await writer.restart()
      await writer.append(new TextEncoder().encode(text))
      await writer.commit()
    } finally {
      await writer.close()
    }
  } catch {}
}

export interface StoredFile {
  readonly bytes: number
  /** Whether there was no room to keep it, so that it lasts as long as it is held: known once it has been tried. */
  readonly fleeting?: Promise<boolean>
  /** `into` has room for them, and may be used for them. */
  slice(from: number, to: number, into?: Uint8Array): Promise<Uint8Array>
}

/** One download. Nobody reads the file before `commit`. */
export interface FileWriter {
  /** Bytes held, those of an earlier attempt included. */
  readonly written: number
  append(chunk: Uint8Array): Promise<void>
  /** All bytes held so far, for the hash. */
  contents(): AsyncIterable<Uint8Array>
  /** Forgets what is held. */
  restart(): Promise<void>
  commit(): Promise<StoredFile>
  /** Leaves; what is held may serve a later attempt. */
  close(): Promise<void>
}
