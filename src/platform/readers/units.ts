/** Units that have a fixed relation, so that a number can be told in the one that is asked for. */
import { unsure, type ValueReading } from './reading.js'
import { plain } from './text.js'

type Kind = readonly [kind: string, size: number, ...names: string[]]

const KINDS: readonly Kind[] = [
  ['mass', 1e-6, 'mg', 'milligram', 'milligrams'],
  ['mass', 1e-3, 'g', 'gram', 'grams', 'gramm', 'gramme', 'grammes', 'gramo', 'gramos'],
  ['mass', 1, 'kg', 'kilo', 'kilos', 'kilogram', 'kilograms', 'kilogramm', 'kilogramme', 'kilogrammes', 'kilogramos'],
  ['mass', 1e3, 't', 'tonne', 'tonnes', 'tonnen', 'tonelada', 'toneladas'],
  ['mass', 0.45359237, 'lb', 'lbs', 'pound', 'pounds'],
  ['mass', 0.028349523125, 'oz', 'ounce', 'ounces'],
  ['length', 1e-3, 'mm', 'millimeter', 'millimetre', 'millimeters', 'millimetres'],
  ['length', 1e-2, 'cm', 'zentimeter', 'centimeter', 'centimetre', 'centimeters', 'centimetres', 'centimetros'],
  ['length', 1, 'm', 'meter', 'metre', 'meters', 'metres', 'metro', 'metros'],
  ['length', 1e3, 'km', 'kilometer', 'kilometre', 'kilometers', 'kilometres', 'kilometros'],
  ['length', 0.0254, 'in', 'inch', 'inches', 'zoll'],
  ['length', 0.3048, 'ft', 'foot', 'feet'],
  ['length', 1609.344, 'mi', 'mile', 'miles'],
  ['volume', 1e-3, 'ml', 'milliliter', 'millilitre'],
  ['volume', 1, 'l', 'liter', 'litre', 'liters', 'litres', 'litro', 'litros'],
  ['share', 1, '%', 'percent', 'per cent', 'prozent', 'pour cent', 'por ciento'],
  ['USD', 1, 'usd', '$', 'us$', 'dollar', 'dollars', 'dolares'],
  ['EUR', 1, 'eur', '€', 'euro', 'euros'],
  ['GBP', 1, 'gbp', '£'],
  ['CHF', 1, 'chf', 'franken', 'sfr'],
  ['JPY', 1, 'jpy', '¥', 'yen'],
  ['CNY', 1, 'cny', 'rmb', 'yuan', 'renminbi'],
  ['CAD', 1, 'cad', 'c$', 'ca$'],
  ['AUD', 1, 'aud', 'a$', 'au$'],
  ['NZD', 1, 'nzd', 'nz$'],
  ['SGD', 1, 'sgd', 's$'],
  ['HKD', 1, 'hkd', 'hk$'],
  ['MXN', 1, 'mxn', 'mx$'],
  ['BRL', 1, 'brl', 'r$'],
  ['INR', 1, 'inr', '₹', 'rupee', 'rupees'],
  ['KRW', 1, 'krw', '₩'],
  ['TRY', 1, '₺'],
  ['RUB', 1, 'rub', '₽'],
  ...['sek', 'nok', 'dkk', 'pln', 'czk', 'huf', 'zar'].map((code): Kind => [code, 1, code]),
  // Hundredths of any of these.
  ['cent', 1, 'cent', 'cents', 'centime', 'centimes', 'centimos', '¢'],
  // Of two sizes, or told from two zeros: as they stand, or not at all.
  ...['kb', 'mb', 'gb', 'tb', 'kib', 'mib', 'gib', 'tib'].map((size): Kind => [size, 1, size]),
  ['gallon', 1, 'gal', 'gallon', 'gallons'],
  ['celsius', 1, '°c', 'c', 'celsius'],
  ['fahrenheit', 1, '°f', 'f', 'fahrenheit'],
  ['speed', 1, 'km/h', 'kmh', 'kph'],
  ['speed', 3.6, 'm/s'],
  ['speed', 1.609344, 'mph'],
]
const UNITS = new Map(KINDS.flatMap(([kind, size, ...names]) => names.map((name) => [name, { kind, size }] as const)))
/** More countries than one write it. */
const SHARED: ReadonlySet<string> = new Set(['$', 'dollar', 'dollars', 'dolares'])
const DOLLARS: ReadonlySet<string> = new Set(['usd', 'aud', 'cad', 'nzd', 'sgd', 'hkd', 'mxn'])

/** `before` and `behind`: what stands around the number. A unit that is none of these is taken for the one asked for. */
export function inUnitOf(
  reading: ValueReading<number>,
  before: string,
  behind: string,
  wanted?: string,
): ValueReading<number> {
  const target = wanted === undefined ? undefined : plain(wanted)
  const to = target === undefined ? undefined : UNITS.get(target)
  const name = unitIn(before, behind)
  const from = name === undefined ? undefined : UNITS.get(name)
  if (name === undefined || from === undefined || target === undefined || name === target) return reading
  if (SHARED.has(name) && DOLLARS.has(target)) return reading
  if (to === undefined) return reading
  const { value, guess } = reading
  const likely = value ?? guess
  if (likely === undefined) return reading
  // Money has no fixed rate, and a mass is no length.
  if (from.kind !== to.kind) return unsure(likely)
  const there = Number(((likely * from.size) / to.size).toPrecision(12))
  return value === null ? unsure(there) : { value: there }
}

function unitIn(before: string, behind: string): string | undefined {
  const near = [
    /^\s?(per cent|pour cent|por ciento|us\$|km\/h|m\/s|° ?[cf](?!\p{L})|\p{L}+|[%¢\p{Sc}])/u
      .exec(behind)?.[1]
      ?.replace('° ', '°'),
    /(\p{L}{2,}\$?|\p{L}\$|\p{Sc})\s?$/u.exec(before)?.[1],
  ]
  return near.find((name) => name !== undefined && UNITS.has(name))
}
