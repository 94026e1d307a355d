import { jsonPointer } from '../../platform/index.js'

/** A string, number, boolean or null of a document, once it is whole. Places are bytes of the document. */
export interface DocumentLeaf {
  readonly pointer: string
  readonly start: number
  readonly end: number
  readonly value: string | number | boolean | null
  /** How it is written. */
  readonly text: string
  /** Of a property: where it was open what comes next, and where its name ends. */
  readonly key?: { readonly from: number; readonly to: number }
}

interface Level {
  readonly object: boolean
  /** Of the item that is being written. */
  index: number
  name: string
  /** Behind what came last, and behind the name. */
  from: number
  to: number
}

type Mode = 'value' | 'string' | 'scalar' | 'after' | 'name' | 'name text' | 'colon'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

export const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
/** What may stand behind a number or a word, and never within one. */
export const endsScalar = (byte: number): boolean =>
  isBlank(byte) || byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT

/** Reads a JSON document as it is written, and tells of each leaf as it closes. The document must be right. */
export class Leaves {
  #bytes = new Uint8Array(256)
  #length = 0
  readonly #levels: Level[] = []
  #mode: Mode = 'value'
  #start = 0
  #escaped = false

  get length(): number {
    return this.#length
  }

  get inString(): boolean {
    return this.#mode === 'string'
  }

  /** A value comes next, or a list ends. */
  get beforeValue(): boolean {
    return this.#mode === 'value'
  }

  byte(at: number): number {
    return this.#bytes[at]!
  }

  push(bytes: Uint8Array): DocumentLeaf[] {
    this.#hold(bytes)
    const found: DocumentLeaf[] = []
    for (let at = this.#length - bytes.length; at < this.#length; at++) {
      const leaf = this.#read(this.#bytes[at]!, at)
      if (leaf) found.push(leaf)
    }
    return found
  }

  /** The document is whole: a number that is all of it is, too. */
  end(): DocumentLeaf[] {
    return this.#mode === 'scalar' ? [this.#leaf(this.#length)] : []
  }

  #hold(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(2 * length)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = length
  }

  #read(byte: number, at: number): DocumentLeaf | undefined {
    switch (this.#mode) {
      case 'string':
      case 'name text':
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) return this.#close(at + 1)
        return undefined
      case 'scalar': {
        if (!endsScalar(byte)) return undefined
        const leaf = this.#leaf(at)
        this.#after(byte, at)
        return leaf
      }
      case 'after':
        this.#after(byte, at)
        return undefined
      case 'name':
        if (byte === QUOTE) this.#begin('name text', at)
        else if (byte === CLOSE_OBJECT) this.#leave(at)
        return undefined
      case 'colon':
        if (byte === COLON) this.#mode = 'value'
        return undefined
      case 'value':
        this.#value(byte, at)
        return undefined
    }
  }

  #value(byte: number, at: number): void {
    if (isBlank(byte)) return
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      const object = byte === OPEN_OBJECT
      this.#levels.push({ object, index: 0, name: '', from: at + 1, to: at + 1 })
      this.#mode = object ? 'name' : 'value'
    } else if (byte === CLOSE_LIST) this.#leave(at)
    else this.#begin(byte === QUOTE ? 'string' : 'scalar', at)
  }

  #begin(mode: Mode, at: number): void {
    this.#mode = mode
    this.#start = at
  }

  #close(end: number): DocumentLeaf | undefined {
    if (this.#mode === 'string') return this.#leaf(end)
    const level = this.#levels.at(-1)!
    level.name = JSON.parse(this.#text(this.#start, end)) as string
    level.to = end
    this.#mode = 'colon'
    return undefined
  }

  #after(byte: number, at: number): void {
    const level = this.#levels.at(-1)
    if (byte === COMMA && level) {
      level.index++
      this.#mode = level.object ? 'name' : 'value'
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#leave(at)
  }

  #leave(at: number): void {
    this.#levels.pop()
    this.#mode = 'after'
    const level = this.#levels.at(-1)
    if (level) level.from = at + 1
  }

  #leaf(end: number): DocumentLeaf {
    const text = this.#text(this.#start, end)
    const level = this.#levels.at(-1)
    const key = level?.object ? { key: { from: level.from, to: level.to } } : {}
    if (level) level.from = end
    this.#mode = 'after'
    return { pointer: this.#pointer(), start: this.#start, end, value: JSON.parse(text), text, ...key }
  }

  #pointer(): string {
    return jsonPointer(this.#levels.map(({ object, index, name }) => (object ? name : index)))
  }

  #text(start: number, end: number): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes.subarray(start, end))
  }
}
