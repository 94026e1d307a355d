/** In a page: a model in a file that the page was given. */
import { type Load, measureLoad } from './load.js'

export interface LoadingPage {
  /** Milliseconds in which the file's bytes are read, a few at a time. */
  read(): Promise<number>
  /** The same, all of which is kept until the end. */
  keep(): Promise<number>
  /** The model stays. */
  load(): Promise<Load>
}

const chosen = () => document.querySelector('input')!.files![0]!

const page: LoadingPage = {
  async read() {
    const file = chosen()
    const start = performance.now()
    for (let at = 0; at < file.size; at += 1 << 22) await file.slice(at, at + (1 << 22)).arrayBuffer()
    return performance.now() - start
  },
  async keep() {
    const file = chosen()
    const start = performance.now()
    const kept: ArrayBuffer[] = []
    for (let at = 0; at < file.size; at += 1 << 22) kept.push(await file.slice(at, at + (1 << 22)).arrayBuffer())
    return performance.now() - start
  },
  load: () =>
    new Promise((resolve, reject) => {
      const stay = (load: Load) => {
        resolve(load)
        // What nobody can end any more would be collected.
        return new Promise<void>((end) => {
          Object.assign(window, { end })
        })
      }
      measureLoad({ kind: 'files', files: [chosen()] }, 1, stay).catch(reject)
    }),
}
Object.assign(window, { loading: page })
