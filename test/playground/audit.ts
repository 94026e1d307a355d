import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Axe from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds that keeps people from using the page as it stands now: names, roles, order, contrast. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(source)
  return page.evaluate(async (rules) => {
    const { axe } = window as unknown as { axe: typeof Axe }
    const { violations } = await axe.run(document, { runOnly: rules })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  }, RULES)
}
