/**
 * `npm run bench:step`: what a step of decoding, and a part of a prompt, ask of a GPU for each way of cutting their products
 * (dispatches, barriers, bytes), and how much time of the processor recording a step takes. On a GPU that computes nothing:
 * no time of a GPU is in it.
 * `-- --nano 200`: also what rounding activations to 8 bits costs nano over so many tokens.
 */
import { parseArgs } from 'node:util'
import { lossOfPacking } from './loss.js'
import { costOfPrompt, READ } from './prompt.js'
import { costOfStep, type Form, timesOfStep } from './step.js'
import { BLOCK_WAYS, PROMPT_WAYS, present, WAYS } from './ways.js'

const number = (value: number) => value.toLocaleString('en-US')
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`

async function show(shape: string, form: Form, ways: typeof WAYS) {
  console.log(
    `${shape} in ${form}: dispatches, barriers between them, within workgroups (those of products), weights, activations`,
  )
  for (const [name, traits] of Object.entries(ways)) {
    const cost = await costOfStep(shape, traits, form)
    const waits = `${number(cost.waits)} (${number(cost.waitsOfProducts)})`
    const cells = [cost.dispatches, cost.barriers, waits, megabytes(cost.weights), megabytes(cost.activations)]
    console.log(`  ${name.padEnd(24)}${cells.map((cell) => String(cell).padStart(20)).join('')}`)
  }
}

for (const shape of ['Llama-3.2-1B-like', 'SmolLM2-135M-like']) {
  await show(shape, 'q4f16', WAYS)
  const { whole, repeated, anew } = await timesOfStep(shape, present)
  const besides = Object.entries({ 'operation by operation': repeated, 'recorded anew': anew })
  const slower = besides.map(([way, time]) => `${time.toFixed(2)} ${way} (${(time / whole).toFixed(1)} times)`)
  console.log(`  processor time of recording a step: ${[`${whole.toFixed(2)} ms`, ...slower].join(', ')}`)
}
await show('Llama-3.2-1B-like', 'Q4_K_M', BLOCK_WAYS)
for (const form of ['q4f16', 'Q4_K_M'] as const) {
  console.log(
    `${READ} rows of a prompt, 1B in ${form}: dispatches, barriers in workgroups of products, shared bytes read`,
  )
  for (const [name, traits] of Object.entries(PROMPT_WAYS)) {
    const { dispatches, waitsOfProducts, shared } = await costOfPrompt('Llama-3.2-1B-like', traits, form)
    const cells = [dispatches, number(waitsOfProducts), megabytes(shared)]
    console.log(`  ${name.padEnd(24)}${cells.map((cell) => String(cell).padStart(20)).join('')}`)
  }
}

const { values } = parseArgs({ options: { nano: { type: 'string' } } })
if (values.nano) {
  for (const [name, { tokens, mean, rms, others }] of Object.entries(await lossOfPacking(Number(values.nano)))) {
    const nats = `${mean.toFixed(4)} nats a token lost, ${rms.toFixed(4)} rms`
    console.log(`nano, activations ${name}: ${nats}, ${others} of ${tokens} likeliest tokens are others`)
  }
}
