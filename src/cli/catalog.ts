import process from 'node:process'
import { CATALOG } from '../models/index.js'

const size = (bytes: number) => (bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`)

/** A line for each model to begin with, and one below it. */
export function showCatalog({ json }: { readonly json?: boolean }): void {
  if (json) return void process.stdout.write(`${JSON.stringify(CATALOG, null, 2)}\n`)
  for (const { name, from, about, format, downloadBytes, memoryBytes, contextLength, ...model } of CATALOG) {
    const { licence, tools, thinks } = model
    const traits = [
      `${size(downloadBytes)} (${format})`,
      `${size(memoryBytes)} of memory at ${contextLength} tokens`,
      `trained for ${model.trainedContext}`,
      ...(tools === undefined ? [] : ['tools']),
      ...(thinks ? ['thinks'] : []),
      licence,
    ]
    process.stdout.write(`${from}\n  ${name}. ${about}\n  ${traits.join(', ')}\n`)
  }
}
