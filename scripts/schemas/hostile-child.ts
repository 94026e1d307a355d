/** Compiles one hostile schema in a fresh process, or many generated ones, and says what it cost. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compile, SchemaError } from '../../src/grammar/structured.js'
import { watchForSpins } from '../hangs.js'
import { costly } from './costly.js'
import { COSTLY, HOSTILE, WALKS } from './hostile.js'

export interface Cost {
  readonly name: string
  readonly outcome: string
  readonly refused: boolean
  /** Neither compiled nor refused by name. */
  readonly crashed: boolean
  readonly ms: number
  readonly mebibytes: number
}

/** Seconds of the processor that no schema and no text may take; a process that does is ended. */
const HUNG = 20
const watch = watchForSpins(HUNG)

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

/** Processor time, so that other work on the machine does not count. */
function measured(work: () => void): { ms: number; mebibytes: number } {
  const before = process.resourceUsage().maxRSS
  const started = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(started)
  return { ms: (user + system) / 1000, mebibytes: (process.resourceUsage().maxRSS - before) / 1024 }
}

function compiled(name: string, schema: unknown): Cost {
  let outcome = 'compiled'
  let refused = false
  let crashed = false
  watch.begin(name)
  const cost = measured(() => {
    try {
      compile(schema)
    } catch (error) {
      refused = error instanceof SchemaError
      crashed = !refused
      outcome = error instanceof Error ? error.message : String(error)
    }
  })
  return { name, outcome, refused, crashed, ...cost }
}

/** What is in use once the garbage is collected. */
function heap(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** The time is that of one text, the memory what all of them leave behind. */
function walked(name: string): Cost {
  const { schema, texts } = WALKS[name]!
  const grammar = compile(schema)
  const all = [...texts()]
  let accepted = 0
  const before = heap()
  const { ms } = measured(() => {
    for (const text of all) {
      watch.begin(name)
      if (grammar.accepts(text)) accepted++
    }
  })
  const crashed = accepted < all.length
  return {
    name,
    outcome: `${accepted} accepted`,
    refused: false,
    crashed,
    ms: ms / all.length,
    mebibytes: heap() - before,
  }
}

/** The slowest of so many generated ones; each that crashes counts as slower. */
function slowest(from: number, to: number): Cost {
  let worst: Cost | undefined
  for (let seed = from; seed < to; seed++) {
    const once = compiled(`the slowest of ${to - from} generated schemas, seed ${seed}`, costly(seed))
    // The first one may have come while code was still being made.
    const cost = once.ms > 100 && !once.crashed ? compiled(once.name, costly(seed)) : once
    if (worst === undefined || cost.crashed || cost.ms > worst.ms) worst = cost
    if (cost.crashed) break
  }
  return worst!
}

// To begin with takes as long as the machine is busy, and the watch is a thread of this process, whose start would count.
void watch.ready.then(() => process.send!('ready'))
process.on('message', (name: string) => {
  const seeds = /^seeds (\d+) (\d+)$/.exec(name)
  if (seeds !== null) process.send!(slowest(Number(seeds[1]), Number(seeds[2])))
  else process.send!(name in WALKS ? walked(name) : compiled(name, (HOSTILE[name] ?? COSTLY[name])!()))
})
