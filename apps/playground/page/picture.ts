import { type DeviceResult, MEASURES } from './device-bench.js'
import { milliseconds, rate } from './format.js'
import { nameOf } from './model-names.js'

/** A result as a picture, as the address of a PNG. */
export function drawPicture(result: DeviceResult): string {
  const canvas = document.createElement('canvas')
  canvas.width = 1200
  canvas.height = 630
  const pen = canvas.getContext('2d')
  if (!pen) throw new Error('This browser cannot draw the picture.')
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const write = (text: string, x: number, y: number, size: number, name = '--text', weight = 400) => {
    pen.fillStyle = colour(name)
    pen.font = `${weight} ${size}px ${style.fontFamily}`
    pen.fillText(text, x, y, 1080 - x + 60)
  }
  pen.fillStyle = colour('--surface')
  pen.fillRect(0, 0, canvas.width, canvas.height)
  write(`${nameOf(result.model)} on this device`, 60, 100, 52, '--text', 650)
  write(`${result.device} · ${result.date}`, 60, 148, 26, '--muted')
  const most = Math.max(...MEASURES.map(([key]) => result[key]))
  MEASURES.forEach(([key, label], i) => {
    const y = 230 + i * 110
    write(label, 60, y, 28)
    pen.fillStyle = colour('--line')
    pen.fillRect(60, y + 18, 840, 26)
    pen.fillStyle = colour(key === 'json' ? '--forced-bar' : '--accent')
    pen.fillRect(60, y + 18, most > 0 ? (840 * result[key]) / most : 0, 26)
    write(`${rate(result[key])} tokens/s`, 920, y + 42, 28, '--text', 600)
  })
  write(
    `First token after ${milliseconds(result.firstMs)} · local-v1, nothing leaves the device`,
    60,
    580,
    26,
    '--muted',
  )
  return canvas.toDataURL('image/png')
}
