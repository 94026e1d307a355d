import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { FULL } from '../support/full.js'

const folder = fileURLToPath(new URL('../../test-output/playground/', import.meta.url))
const WANTED = FULL || process.env.LOCAL_V1_PICTURES === '1'

/** A picture for people to look at, where they have asked for it: to paint a window takes a fifth of a second of a core. */
export async function picture(page: Page, name: string, fullPage = false): Promise<void> {
  if (WANTED) await page.screenshot({ path: `${folder}${name}.png`, animations: 'disabled', fullPage })
}
