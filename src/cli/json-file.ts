import { readFile } from 'node:fs/promises'
import { Fault } from './fault.js'

/** What a file that was named on the command line holds; `purpose` is it that the file is for. */
export async function readJsonFile(purpose: string, file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Fault(`The ${purpose} file ${file} cannot be read: ${(cause as Error).message}`)
  })
  try {
    return JSON.parse(text.replace(/^\ufeff/, '')) as unknown
  } catch (cause) {
    throw new Fault(`The ${purpose} file ${file} is not JSON: ${(cause as Error).message}`)
  }
}
