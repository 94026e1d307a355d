import { contract } from '../contract.js'
import { launchDrivenChromium } from '../support/driven-chromium.js'
import { FULL } from '../support/full.js'
import { controlledTab } from '../support/service-worker.js'
import { canUnpack } from '../support/unpack.js'
import { launchFirefox, launchWebKit } from '../support/webdriver.js'
import { reachInside } from './inside.js'

/** Browsers that are no dependencies of this repository: those of them that this machine has, and is asked to use. */
const chosen = (process.env.CONTRACT_BROWSERS ?? '').split(',')

const BROWSERS = [
  ['Chromium (npm has it for Linux on x64)', launchDrivenChromium, canUnpack],
  ['Firefox (where CONTRACT_BROWSERS names it)', () => launchFirefox(), chosen.includes('firefox')],
  ['WebKitGTK (where CONTRACT_BROWSERS names it)', launchWebKit, chosen.includes('webkit')],
] as const

for (const [browser, launch, available] of BROWSERS) {
  const isChromium = launch === launchDrivenChromium
  for (const [name, install] of [
    ['a service worker', false],
    ["a page's worker behind a service worker", true],
  ] as const) {
    const start = async () =>
      reachInside(await controlledTab(launch, 'test/contract/worker.ts', { missing: 'the application', install }))
    contract(`${name} in ${browser}`, start, { available, whole: FULL || (isChromium && !install) })
  }
}
