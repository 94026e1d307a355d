/** The page: choose, start, read the table; `measure` is what a program calls instead of a person. */
import { chartOf } from '../harness/chart.js'
import type { Order } from '../harness/elsewhere.js'
import { madeUpModels } from '../harness/made-up.js'
import type { Report } from '../harness/report.js'
import { settingsOf } from '../harness/settings.js'
import { tableOf } from '../harness/table.js'
import { isolate } from './isolate.js'
import type { Message, PageOrder } from './worker.js'

/** Put in by whoever builds the page. */
declare const __VERSION__: string

const NANO = { id: 'local-v1/nano', from: new URL('./nano/', location.href).href }
const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T

function measure(order: PageOrder): Promise<Report> {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
  return new Promise<Report>((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message || 'The worker could not be started.'))
    worker.onmessage = ({ data }: MessageEvent<Message>) => {
      if ('report' in data) resolve(data.report)
      else if ('error' in data) reject(new Error(data.error))
      else element('progress').textContent = data.progress
    }
    worker.postMessage(order)
  }).finally(() => worker.terminate())
}

function chosen(): Order {
  const devices = (['cpu', 'webgpu'] as const).filter((name) => element<HTMLInputElement>(name).checked)
  const model = element<HTMLSelectElement>('model').value
  const quick = element<HTMLInputElement>('quick').checked
  const models = [model === NANO.id ? NANO : model]
  return { version: __VERSION__, models, devices, settings: settingsOf({ quick }) }
}

function show(report: Report): void {
  element('progress').textContent = ''
  element('table').textContent = tableOf(report)
  element('chart').innerHTML = chartOf(report)
  const link = element<HTMLAnchorElement>('save')
  link.href = URL.createObjectURL(new Blob([JSON.stringify(report, null, 2)], { type: 'application/json' }))
  link.hidden = false
}

async function start(): Promise<void> {
  const button = element<HTMLButtonElement>('start')
  button.disabled = true
  try {
    show(await measure(chosen()))
  } catch (error) {
    element('progress').textContent = `It failed: ${(error as Error).message}`
  } finally {
    button.disabled = false
  }
}

async function prepare(): Promise<void> {
  await isolate()
  element<HTMLSelectElement>('model').append(...[NANO.id, ...madeUpModels()].map((name) => new Option(name, name)))
  const gpu = (await navigator.gpu?.requestAdapter()) != null
  element<HTMLInputElement>('webgpu').disabled = !gpu
  element<HTMLInputElement>('webgpu').checked = gpu
  element('start').onclick = () => void start()
  Object.assign(globalThis, { measure, NANO })
  element<HTMLButtonElement>('start').disabled = false
}

void prepare()
