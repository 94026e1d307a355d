/** A table of WebLLM's prebuilt models: which of them `local-v1/core` runs, and why not the others. */
import { type Judged, judged, prebuiltRecords, reasonsOf } from './webllm/records.js'

const all = (await prebuiltRecords()).map(judged)
const groups = new Map<string, Judged[]>()
for (const one of all) {
  const key = `${one.architecture.padEnd(12)} ${one.lacks === undefined ? 'yes' : `no: ${one.lacks}`}`
  groups.set(key, [...(groups.get(key) ?? []), one])
}
for (const [key, records] of [...groups].sort()) {
  const quantisations = [...new Set(records.map(({ quantisation }) => quantisation))].sort().join(', ')
  console.log(`${String(records.length).padStart(3)}  ${key.padEnd(34)} ${quantisations}`)
}
const run = all.filter(({ lacks }) => lacks === undefined).length
console.log(
  `${run} of ${all.length} run; not: ${reasonsOf(all)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ')}`,
)
