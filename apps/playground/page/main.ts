import { NANO } from '../../../src/models/catalog.js'
import { onChanged } from '../worker/added-models.js'
import { keptOffline } from '../worker/offline.js'
import { connectAddModel } from './add-model.js'
import { placeIn } from './address.js'
import { ApiError, Unreachable } from './api.js'
import { ChatView } from './chat-view.js'
import { connectCodeDialog } from './code-dialog.js'
import { type Connection, connect, NO_ROOM } from './connect.js'
import { DecisionsView } from './decisions-view.js'
import { asResult } from './device-bench.js'
import { DeviceBenchView } from './device-bench-view.js'
import { deviceView } from './device-view.js'
import { byId, el } from './dom.js'
import { connectEmbed } from './embed.js'
import { failureView } from './failure-view.js'
import { PageFinder } from './finder.js'
import { connectKeyDialog } from './key-dialog.js'
import { connectLongLines } from './long-lines.js'
import type { Machine } from './machine.js'
import { nameOf } from './model-names.js'
import { Models } from './models.js'
import { modelsView } from './models-view.js'
import { OpenedLink } from './opened-link.js'
import { RequestsView } from './requests-view.js'
import { ServerFinder } from './server-finder.js'
import { set, settings } from './settings.js'
import { connectSettings } from './settings-view.js'
import { asShared, asSharedDecisions } from './share.js'
import { StructuredView } from './structured-view.js'
import { TableStore } from './table/store.js'
import { TableView } from './table-view.js'
import { connectTabs } from './tabs.js'
import { connectTheme } from './theme.js'
import { TokenizerView } from './tokenizer-view.js'
import { connectUsage } from './usage-dialog.js'

async function start(): Promise<void> {
  connectTheme(byId('theme', HTMLButtonElement))
  connectKeyDialog()
  connectEmbed()
  connectLongLines()
  const link = new OpenedLink()
  const shared = await link.read('share', asShared)
  const decisions = await link.read('decisions', asSharedDecisions)
  const result = await link.read('device', asResult)
  const place = placeIn(location.hash)
  if (shared) set({ ...shared.settings, mode: 'structured' })
  else if (decisions) set({ ...decisions.settings, mode: 'decisions' })
  else if (result) set({ mode: 'device' })
  else if (place) set({ mode: place.mode })
  const models = new Models()
  // The embedded model is what most begin with: it loads while the page is made.
  const isFirst = settings().model === '' || settings().model === NANO
  const connecting = connect((model, load) => models.hear(model, load), isFirst ? NANO : undefined)
  foldOnPhones()
  connectTabs()
  const connection = await connecting
  sayWhatThisIs(connection)
  models.managed = connection.place === 'page'
  const nano = models.managed && isFirst ? models.load(NANO).catch(() => {}) : undefined
  await listed(models)
  sayLimits(connection)
  const first = connection.place === 'page' ? NANO : (models.list[0]?.id ?? '')
  const wanted = models.list.some(({ id }) => id === settings().model) ? settings().model : first
  models.select(wanted)
  const server = models.managed ? undefined : await ServerFinder.open()
  const machine = server ? { ...connection.machine, ...(await offering(models, server)) } : connection.machine
  const finder = models.managed ? new PageFinder(machine) : server
  const look = connectAddModel(models, machine, finder)
  byId('models', HTMLElement).replaceChildren(modelsView(models, machine, look))
  deviceView(models, machine, byId('device-chip', HTMLElement), byId('device', HTMLElement))
  connectSettings()
  connectUsage(byId('usage-open', HTMLButtonElement))
  connectCodeDialog()
  const structured = new StructuredView(models, shared?.draft)
  const table = new TableView(models, await TableStore.open())
  new DecisionsView(models, decisions?.draft)
  new ChatView(models, machine)
  new RequestsView(models)
  new TokenizerView(models)
  new DeviceBenchView(models, result)
  let chosen = models.selected
  models.onChange(() => {
    // What another tab chose meanwhile stays, until one is chosen here.
    if (models.selected !== chosen) set({ model: models.selected })
    chosen = models.selected
    byId('model-summary', HTMLElement).textContent = nameOf(models.selected)
  })
  byId('model-summary', HTMLElement).textContent = nameOf(models.selected)
  followLinks()
  // Another tab unloads or removes a model; another program may have loaded some meanwhile.
  const refresh = () => void models.refresh().catch(() => {})
  onChanged(refresh)
  document.addEventListener('visibilitychange', () => document.hidden || refresh())
  document.body.classList.add('ready')
  document.querySelector('.layout')?.removeAttribute('inert')
  link.tell()
  void table.begin()
  if (wanted === NANO) await nano
  if (settings().mode === 'structured' && models.current?.metadata?.loaded) await structured.introduce()
  if (models.managed) sayLimits(connection, await isWholeOffline(connection, models))
}

/** Browsers say how much they store, and then store less: what counts is what was kept. */
async function isWholeOffline({ limits }: Connection, models: Models): Promise<boolean> {
  if (limits !== undefined || !(await keptOffline())) return false
  await models.refresh()
  const { loaded, kept } = models.list.find(({ id }) => id === NANO)?.metadata ?? {}
  return !(loaded && kept === false)
}

/** A link that is opened in this tab changes its fragment alone: only a load reads it. */
function followLinks(): void {
  addEventListener('hashchange', () => {
    if (/[#&](share|decisions|device|key)=/.test(location.hash)) location.reload()
  })
}

/** What keeps the page from starting is then all that it has. */
function showAlone(title: string, failure: HTMLElement): void {
  byId('starting', HTMLElement).replaceChildren(el('main', {}, el('h2', {}, title), failure))
}

/** The list of models; where a key is missing, once somebody has given it. */
async function listed(models: Models): Promise<void> {
  for (;;) {
    try {
      return await models.refresh()
    } catch (error) {
      const missing = error instanceof ApiError && error.status === 401
      if (!missing && !(error instanceof Unreachable)) throw error
      await new Promise<void>((resolve) => {
        showAlone(missing ? 'This server needs a key' : 'The server does not answer', failureView(error, resolve))
      })
      // What was in the way is gone, and the page's shape stands there again; nobody presses twice.
      byId('starting', HTMLElement).replaceChildren(el('p', { class: 'visually-hidden' }, 'Starting'))
    }
  }
}

/** What the server could serve stands in the list too; what it computes on, as far as it tells. */
async function offering(models: Models, server: ServerFinder): Promise<Pick<Machine, 'webgpu' | 'free'>> {
  models.offers = server.offers
  await models.refresh()
  return { webgpu: models.list.some(({ metadata }) => metadata?.device === 'webgpu'), free: server.free }
}

function sayWhatThisIs({ place, upstream }: Connection): void {
  const where = place === 'page' ? 'in this page, on this device' : `on the machine that serves this page`
  const leaves =
    upstream === undefined
      ? place === 'page'
        ? 'nothing you write leaves it.'
        : 'nothing you write goes anywhere else.'
      : `what it cannot answer is sent to ${upstream}.`
  byId('what', HTMLElement).textContent = `A language model ${where}, behind OpenAI's API: ${leaves}`
  byId('chat-where', HTMLElement).textContent = `The model runs ${where}: ${leaves}`
}

/** What is lost here. */
function sayLimits({ limits }: Connection, isOffline = true): void {
  const notice = byId('limits', HTMLElement)
  notice.textContent = limits ?? (isOffline ? '' : NO_ROOM)
  notice.hidden = notice.textContent === ''
}

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
  // In the browser's own words, for whoever looks into it.
  console.error(error)
  showAlone(
    'The playground cannot start here',
    failureView(error, () => location.reload()),
  )
})
