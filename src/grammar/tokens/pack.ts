/** Typed arrays one after the other, each behind its kind and length, all on word boundaries. Little-endian. */

/** To be changed with the meaning of what is packed. */
const MAGIC = 0x3362_6376 // vcb3

export interface Section {
  readonly bytes: Uint8Array
  readonly words: Uint32Array
}

export function pack(arrays: readonly (Uint8Array | Uint32Array | Int32Array)[]): Uint8Array {
  const total = arrays.reduce((sum, array) => sum + 4 + padded(array.byteLength), 8)
  const data = new Uint8Array(total)
  const view = new DataView(data.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint32(4, arrays.length, true)
  let at = 8
  for (const array of arrays) {
    view.setUint32(at, array.byteLength, true)
    data.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at + 4)
    at += 4 + padded(array.byteLength)
  }
  return data
}

export function unpack(data: Uint8Array): Section[] {
  // Words need an aligned start; a view into a larger buffer may have none.
  const aligned = data.byteOffset % 4 === 0 ? data : data.slice()
  const view = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength)
  if (data.byteLength < 8 || view.getUint32(0, true) !== MAGIC) return []
  const sections: Section[] = []
  for (let i = 0, at = 8; i < view.getUint32(4, true) && at + 4 <= data.byteLength; i++) {
    const length = view.getUint32(at, true)
    if (at + 4 + length > data.byteLength) return []
    const start = aligned.byteOffset + at + 4
    sections.push({
      bytes: new Uint8Array(aligned.buffer, start, length),
      words: new Uint32Array(aligned.buffer, start, length >> 2),
    })
    at += 4 + padded(length)
  }
  return sections
}

function padded(length: number): number {
  return (length + 3) & ~3
}
