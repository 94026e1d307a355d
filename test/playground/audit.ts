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

/** On a phone: what is pressed is 44 px high at least, and no field's text is so small that iOS zooms into it. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const seen = (element: Element) => element.checkVisibility() && !element.closest('.visually-hidden, .skip')
    const pressed = [...document.querySelectorAll('button, select, summary, input:not([type="radio"]), .segments span')]
    const low = pressed.filter((each) => seen(each) && each.getBoundingClientRect().height < 43.9)
    const fields = [...document.querySelectorAll('input:not([type="radio"]), textarea, select')]
    const small = fields.filter((each) => seen(each) && Number.parseFloat(getComputedStyle(each).fontSize) < 16)
    return [...low.map((each) => `low: ${each.outerHTML.slice(0, 90)}`), ...small.map((each) => `small: ${each.id}`)]
  })
}
