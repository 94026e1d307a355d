/** Runs one client's form through models and beginnings, and prints what became of each as a line of JSON. */
import { parseArgs } from 'node:util'
import { KINDS, runAgent } from './agent.mjs'

const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    url: { type: 'string' },
    key: { type: 'string' },
    turns: { type: 'string' },
    /** `form|model|kind`, those that were run before. */
    done: { type: 'string', default: '[]' },
    models: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const end = performance.now() + 1000 * Number(values.seconds)
const done = new Set(JSON.parse(values.done))
const { forms, kinds = KINDS } = await import(new URL(values.file, import.meta.url))
process.on('unhandledRejection', () => {})

for (const model of JSON.parse(values.models)) {
  for (const [form, open] of Object.entries(forms)) {
    for (const [kind, history] of Object.entries(kinds)) {
      if (done.has(`${form}|${model}|${kind}`)) continue
      if (performance.now() > end) process.exit(0)
      const began = performance.now()
      let told
      try {
        const conversation = await open({ url: values.url, key: values.key, model, kind, history })
        told = conversation.run ? await conversation.run() : await runAgent(conversation, Number(values.turns))
      } catch (error) {
        told = { asked: 0, faults: [{ turn: 0, what: String(error?.stack ?? error).slice(0, 400) }] }
      }
      console.log(JSON.stringify({ form, model, kind, ms: Math.round(performance.now() - began), ...told }))
    }
  }
}
process.exit(0)
