/** Compiles one hostile schema in a fresh process and says what it cost. */

import { compile, SchemaError } from '../../src/structured/index.js'
import { HOSTILE } from './hostile.js'

export interface Cost {
  readonly name: string
  readonly outcome: string
  readonly refused: boolean
  /** Neither compiled nor refused by name. */
  readonly crashed: boolean
  readonly ms: number
  readonly mebibytes: number
}

// Warm, as in a server: what is measured is the schema, not the first run of the compiler's code.
for (let i = 0; i < 30; i++) {
  compile({
    type: 'object',
    properties: {
      [`a${i}`]: { type: 'string', pattern: `^[a-f]{1,${i + 2}}$`, minLength: 1 },
      b: { type: 'integer', minimum: i },
    },
    anyOf: [{ required: ['b'] }, { required: [`a${i}`] }],
  })
}

process.on('message', (name: string) => {
  const schema = HOSTILE[name]!()
  const before = process.resourceUsage().maxRSS
  const started = process.cpuUsage()
  let outcome = 'compiled'
  let refused = false
  let crashed = false
  try {
    compile(schema)
  } catch (error) {
    refused = error instanceof SchemaError
    crashed = !refused
    outcome = error instanceof Error ? error.message : String(error)
  }
  // Processor time, so that other work on the machine does not count.
  const { user, system } = process.cpuUsage(started)
  const ms = (user + system) / 1000
  const mebibytes = (process.resourceUsage().maxRSS - before) / 1024
  process.send!({ name, outcome, refused, crashed, ms, mebibytes } satisfies Cost)
})
