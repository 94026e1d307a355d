/** The page: choose, start, read the table; `measure` is what a program calls instead of a person. */
import { chartOf } from '../../src/bench/chart.js'
import type { BenchOrder } from '../../src/bench/elsewhere.js'
import { madeUpModels } from '../../src/bench/made-up.js'
import type { BenchReport } from '../../src/bench/report.js'
import { settingsOf } from '../../src/bench/settings.js'
import { tableOf } from '../../src/bench/table.js'
import type { Profile } from '../profile/profile.js'
import { printed } from '../profile/table.js'
import { isolate } from './isolate.js'
import type { Message, PageOrder, Wanted } from './worker.js'

/** Put in by whoever builds the page. */
declare const __VERSION__: string

const NANO = { id: 'local-v1/nano', from: new URL('./nano/', location.href).href }
const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T

function inWorker<Result>(wanted: Wanted): Promise<Result> {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
  return new Promise<Result>((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message || 'The worker could not be started.'))
    worker.onmessage = ({ data }: MessageEvent<Message<Result>>) => {
      if ('result' in data) resolve(data.result)
      else if ('error' in data) reject(new Error(data.error))
      else element('progress').textContent = data.progress
    }
    worker.postMessage(wanted)
  }).finally(() => worker.terminate())
}

const measure = (order: PageOrder) => inWorker<BenchReport>({ measure: order })

const isChosen = (id: string) => element<HTMLInputElement>(id).checked

function chosenModel(): BenchOrder['models'][number] {
  const model = element<HTMLSelectElement>('model').value
  return model === NANO.id ? NANO : model
}

function chosen(): BenchOrder {
  const devices = (['cpu', 'webgpu'] as const).filter(isChosen)
  return { version: __VERSION__, models: [chosenModel()], devices, settings: settingsOf({ quick: isChosen('quick') }) }
}

async function measureChosen(): Promise<void> {
  const report = await measure(chosen())
  show(tableOf(report), chartOf(report), report)
}

/** Of the GPU where it is chosen. */
async function profileChosen(): Promise<void> {
  const device = isChosen('webgpu') ? 'webgpu' : 'cpu'
  const wanted = { version: __VERSION__, model: chosenModel(), device, prompt: 128, batch: 1, steps: 20 } as const
  const profile = await inWorker<Profile>({ profile: wanted })
  show(printed(profile), '', profile)
}

function show(table: string, chart: string, measured: BenchReport | Profile): void {
  element('progress').textContent = ''
  element('table').textContent = table
  element('chart').innerHTML = chart
  const link = element<HTMLAnchorElement>('save')
  link.href = URL.createObjectURL(new Blob([JSON.stringify(measured, null, 2)], { type: 'application/json' }))
  link.hidden = false
}

const buttons = () => document.querySelectorAll('button')

async function start(action: () => Promise<void>): Promise<void> {
  for (const button of buttons()) button.disabled = true
  try {
    await action()
  } catch (error) {
    element('progress').textContent = `It failed: ${(error as Error).message}`
  } finally {
    for (const button of buttons()) button.disabled = false
  }
}

async function prepare(): Promise<void> {
  await isolate()
  element<HTMLSelectElement>('model').append(...[NANO.id, ...madeUpModels()].map((name) => new Option(name, name)))
  const gpu = (await navigator.gpu?.requestAdapter()) != null
  element<HTMLInputElement>('webgpu').disabled = !gpu
  element<HTMLInputElement>('webgpu').checked = gpu
  element('start').onclick = () => void start(measureChosen)
  element('profile').onclick = () => void start(profileChosen)
  Object.assign(globalThis, { measure, NANO })
  for (const button of buttons()) button.disabled = false
}

void prepare()
