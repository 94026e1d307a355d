import type { Page } from 'playwright-core'

/** Text and the ground it stands on, by the names of styles/colours.css. */
const PAIRS: readonly (readonly [string, string])[] = [
  ['text', 'surface'],
  ['text', 'ground'],
  ['text', 'accent-soft'],
  ['muted', 'surface'],
  ['muted', 'ground'],
  ['muted', 'sunk'],
  ['muted', 'accent-soft'],
  ['accent', 'surface'],
  ['accent', 'accent-soft'],
  ['on-accent', 'accent'],
  ['good', 'sunk'],
  ['good', 'accent-soft'],
  ['slow', 'slow-soft'],
  ['slow', 'accent-soft'],
  ['bad', 'surface'],
  ['bad', 'bad-soft'],
  ['bad', 'accent-soft'],
  ['forced', 'sunk'],
  ['sampled', 'sampled-soft'],
]

/** The pairs that are harder to read than WCAG's AA allows for text. */
export async function hardToRead(page: Page): Promise<string[]> {
  const names = [...new Set(PAIRS.flat())]
  const colours = await page.evaluate((names) => {
    const style = getComputedStyle(document.documentElement)
    return names.map((name) => style.getPropertyValue(`--${name}`).trim())
  }, names)
  const light = new Map(names.map((name, i) => [name, luminance(colours[i]!)]))
  return PAIRS.map(([text, ground]) => [text, ground, ratio(light.get(text)!, light.get(ground)!)] as const)
    .filter(([, , contrast]) => !(contrast >= 4.5))
    .map(([text, ground, contrast]) => `${text} on ${ground}: ${contrast.toFixed(2)}`)
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

const ratio = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
