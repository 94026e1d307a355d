import type { LoadProgress as Progress } from 'local-v1'
import { install } from 'local-v1/service-worker'
import { NANO } from '../worker/catalog.js'
import { askBy } from './api.js'
import { ChatView } from './chat-view.js'
import { connectCodeDialog } from './code-dialog.js'
import { deviceView } from './device-view.js'
import { byId, el } from './dom.js'
import { lookAtMachine } from './machine.js'
import { nameOf } from './model-names.js'
import { Models } from './models.js'
import { modelsView } from './models-view.js'
import { set, settings } from './settings.js'
import { connectSettings } from './settings-view.js'
import { StructuredView } from './structured-view.js'
import { connectTabs } from './tabs.js'
import { connectTheme } from './theme.js'
import { connectUsage } from './usage-dialog.js'

async function start(): Promise<void> {
  connectTheme(byId('theme', HTMLButtonElement))
  const models = new Models()
  // One line, and `/v1` is there.
  const installed = await install({
    script: 'v1.js',
    type: 'classic',
    onProgress: (progress) => models.hear(progress.model, wire(progress)),
  })
  askBy(installed.fetch)
  const machine = await lookAtMachine(installed)
  await models.refresh()
  const wanted = models.list.some(({ id }) => id === settings().model) ? settings().model : NANO
  models.select(wanted)
  byId('models', HTMLElement).replaceChildren(modelsView(models, machine))
  deviceView(models, machine, byId('device-chip', HTMLElement), byId('device', HTMLElement))
  connectSettings()
  connectUsage(byId('usage-open', HTMLButtonElement))
  connectCodeDialog()
  connectTabs()
  new StructuredView(models)
  new ChatView(models)
  models.onChange(() => {
    set({ model: models.selected })
    byId('model-summary', HTMLElement).textContent = nameOf(models.selected)
  })
  byId('model-summary', HTMLElement).textContent = nameOf(models.selected)
  foldOnPhones()
  // Another tab may have loaded, unloaded or removed models meanwhile.
  document.addEventListener('visibilitychange', () => void (document.hidden || models.refresh().catch(() => {})))
  document.body.classList.add('ready')
  // The embedded model is here already: it is ready before anybody has read the page.
  if (wanted === NANO) await models.load(NANO).catch(() => {})
}

/** Progress as `/v1` would tell it. */
const wire = ({ phase, bytesLoaded, bytesTotal, secondsLeft }: Progress) => ({
  phase,
  bytes_loaded: bytesLoaded,
  bytes_total: bytesTotal,
  seconds_left: secondsLeft,
})

/** On a phone the models and settings stand above the work: closed until they are wanted. */
function foldOnPhones(): void {
  const narrow = matchMedia('(max-width: 900px)')
  const fold = () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('.rail > details'))
      details.open = !narrow.matches
  }
  narrow.addEventListener('change', fold)
  fold()
}

start().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error)
  byId('starting', HTMLElement).replaceChildren(
    el('h2', {}, 'The playground cannot start here'),
    el('p', { role: 'alert' }, message),
  )
  document.body.classList.add('failed')
})
