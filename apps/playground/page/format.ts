const UNITS = ['B', 'KB', 'MB', 'GB']

/** 203 MB, 1.7 MB. */
export function bytes(count: number): string {
  let value = count
  let unit = 0
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(value < 10 && unit > 1 ? 1 : 0)} ${UNITS[unit]}`
}

/** 45 s, 3 min, 1 h 20 min. */
export function seconds(count: number): string {
  if (count < 90) return `${Math.max(1, Math.round(count))} s`
  const minutes = Math.round(count / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** 85 ms, 1.24 s. */
export function milliseconds(count: number): string {
  return count < 1000 ? `${Math.round(count)} ms` : `${(count / 1000).toFixed(2)} s`
}

/** 12,345; without `Intl`, which a browser takes 10 ms to wake. */
export const whole = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

export const rate = (perSecond: number): string =>
  perSecond < 10 ? perSecond.toFixed(1) : whole(Math.round(perSecond))

export const percent = (share: number): string => `${Math.round(share * 100)} %`

/** 87 %, 99.6 %, <0.1 %: nothing is called certain that is not. */
export function likelihood(share: number): string {
  const percents = share * 100
  if (percents > 0 && percents < 0.1) return '<0.1 %'
  if (percents < 100 && percents > 99.9) return '>99.9 %'
  return `${percents < 10 || percents > 90 ? Number(percents.toFixed(1)) : Math.round(percents)} %`
}

/** Of `what` does not fit, with the counts of a refusal that speaks of messages. */
export function tooLong(what: string, refusal: string): string {
  const [, room, more = '', taken] = /(\d+) tokens.*?(more than )?(\d+) tokens/.exec(refusal) ?? []
  const counts = taken === undefined ? '' : `, in all ${more}${whole(Number(taken))} tokens of ${whole(Number(room))}`
  return `${what} is too long for this model${counts}.`
}
