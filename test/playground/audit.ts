import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { FULL } from '../support/full.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Of what passes axe would find a selector of each element too. */
const OPTIONS = { runOnly: RULES, resultTypes: ['violations'] }
const found = `async () => {
  const { violations } = await window.axe.run(document, ${JSON.stringify(OPTIONS)})
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' ')))
}`

/** A function for a page, as text: what axe finds that keeps people from using it as it stands now. */
export const BARRIERS = `async () => {
${axe}
  return (${found})()
}`

/**
 * What axe finds that keeps people from using the page as it stands now: names, roles, order, contrast. A page is given
 * axe once, whose half a megabyte takes a fifth of the time of a search.
 */
export async function barriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  return page.evaluate(`(${found})()`)
}

/** In which a page is looked at: without LOCAL_V1_FULL each theme and each width, not each in each. */
export const LOOKS: readonly (readonly [theme: 'light' | 'dark', width: number])[] = [
  ['light', 1280],
  ['light', 1024],
  ...(FULL ? ([['light', 360]] as const) : []),
  ['dark', 360],
  ...(FULL
    ? ([
        ['dark', 1024],
        ['dark', 1280],
      ] as const)
    : []),
]

/** On a phone: what is pressed is 44 px high at least, and no field's text is so small that iOS zooms into it. */
export const smallTargets = (page: Page): Promise<string[]> => page.evaluate(lowOrSmall)

/** The same, in the page. */
export function lowOrSmall(): string[] {
  const seen = (element: Element) => element.checkVisibility() && !element.closest('.visually-hidden, .skip')
  const pressed = [
    ...document.querySelectorAll(
      'button, select, summary, input:not([type="radio"], [type="checkbox"]), .segments span, .check',
    ),
  ]
  const low = pressed.filter((each) => seen(each) && each.getBoundingClientRect().height < 43.9)
  const fields = [...document.querySelectorAll('input:not([type="radio"], [type="checkbox"]), textarea, select')]
  const small = fields.filter((each) => seen(each) && Number.parseFloat(getComputedStyle(each).fontSize) < 16)
  return [...low.map((each) => `low: ${each.outerHTML.slice(0, 90)}`), ...small.map((each) => `small: ${each.id}`)]
}

export const sidewaysIn = (page: Page): Promise<string[]> => page.evaluate(sideways)

/** In the page: what has to be scrolled sideways to be seen; rows of data have a right to it, and the tabs of a phone. */
export function sideways(): string[] {
  const scrolls = (element: Element) =>
    element.scrollWidth > element.clientWidth + 1 &&
    element.checkVisibility() &&
    /auto|scroll/.test(getComputedStyle(element).overflowX) &&
    !element.matches('.grid-scroll, .tabs')
  return [...document.querySelectorAll('body *')].filter(scrolls).map((each) => (each.cloneNode() as Element).outerHTML)
}

export const cutIn = (page: Page): Promise<string[]> => page.evaluate(cutOff)

/** In the page: what reaches out of the window, or out of a box that neither scrolls nor grows. */
export function cutOff(): string[] {
  const beyond = document.documentElement.scrollWidth - innerWidth
  const isCut = (element: Element) => {
    const over = element.scrollWidth - element.clientWidth
    if (element.clientWidth === 0 || over <= 1 || !element.checkVisibility()) return false
    if (element.closest('.visually-hidden, .skip')) return false
    // An ellipsis tells that there is more.
    const { overflowX, textOverflow } = getComputedStyle(element)
    return !/auto|scroll/.test(overflowX) && textOverflow !== 'ellipsis'
  }
  const cut = [...document.querySelectorAll('body *')].filter(isCut)
  return [
    ...(beyond > 0 ? [`${beyond} px wider than the window of ${innerWidth} px`] : []),
    ...cut.map((each) => `${each.scrollWidth - each.clientWidth} px beyond ${(each.cloneNode() as Element).outerHTML}`),
  ]
}
