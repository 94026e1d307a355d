/** Units that have a fixed relation, so that a number can be told in the one that is asked for. */
import { unsure, type ValueReading } from './reading.js'
import { anyWord, plain } from './text.js'
import { inAll, type TimeUnit } from './words/index.js'

type Kind = readonly [kind: string, size: number, ...names: string[]]

/** Shorter ones are other units too. */
const timeNames = (unit: TimeUnit) => inAll(({ units }) => units[unit]).filter((name) => name.length > 2)

const KINDS: readonly Kind[] = [
  ['mass', 1e-9, 'mcg', 'ug', 'μg'],
  ['mass', 1e-6, 'мг', 'mg', 'milligram', 'milligrams'],
  [
    'mass',
    1e-3,
    'г',
    '克',
    'g',
    'gram',
    'grams',
    'gramm',
    ...'gramme grammes gramo gramos grammo grammi grama gramas'.split(' '),
  ],
  [
    'mass',
    1,
    ...'кг 公斤 千克'.split(' '),
    'kg',
    'kilo',
    'kilos',
    'kilogram',
    'kilograms',
    'kilogramm',
    ...'kilogramme kilogrammes kilogramos chilo chili chilogrammo chilogrammi quilo quilos quilogramas'.split(' '),
  ],
  ['mass', 1e3, 't', 'tonne', 'tonnes', 'tonnen', 'tonelada', 'toneladas', 'tonnellata', 'tonnellate'],
  ['mass', 1e3, ...'tonne tonnes tonnen tonelada toneladas tonnellata tonnellate'.split(' ')],
  ['mass', 0.45359237, 'lb', 'lbs', 'pound', 'pounds'],
  ['mass', 0.028349523125, 'oz', 'ounce', 'ounces'],
  ['length', 1e-6, 'um', 'μm'],
  ['length', 1e-3, 'мм', 'mm', 'millimeter', 'millimetre', 'millimeters', 'millimetres'],
  [
    'length',
    1e-2,
    'см',
    'cm',
    'zentimeter',
    'centimeter',
    'centimetre',
    'centimeters',
    'centimetres',
    'centimetros',
    'centimetri',
  ],
  ['length', 0.1, 'dm'],
  ['length', 1, 'м', 'm', 'meter', 'metre', 'meters', 'metres', 'metro', 'metros', 'metri'],
  [
    'length',
    1e3,
    'км',
    '公里',
    'km',
    'kilometer',
    'kilometre',
    'kilometers',
    'kilometres',
    ...'kilometros chilometro chilometri quilometro quilometros'.split(' '),
  ],
  ['length', 0.0254, 'in', 'inch', 'inches', 'zoll'],
  ['length', 0.3048, 'ft', 'foot', 'feet'],
  ['length', 0.9144, 'yd', 'yard', 'yards'],
  ['length', 1609.344, 'mi', 'mile', 'miles'],
  ['volume', 1e-3, 'мл', 'ml', 'milliliter', 'millilitre'],
  ['volume', 1e-2, 'cl'],
  ['volume', 0.1, 'dl'],
  ['volume', 1, 'л', 'l', 'liter', 'litre', 'liters', 'litres', 'litro', 'litros', 'litri'],
  ['time', 1, ...timeNames('seconds')],
  ['time', 60, ...timeNames('minutes')],
  ['time', 3600, 'h', 'hr', ...timeNames('hours')],
  ['time', 86_400, ...timeNames('days')],
  ['time', 604_800, ...timeNames('weeks')],
  ['months', 1, ...timeNames('months')],
  ['months', 12, ...timeNames('years')],
  ['share', 1, '%', 'percent', 'per cent', 'prozent', 'pour cent', 'por ciento', 'por cento', 'percento', 'procent'],
  ['promille', 1, 'promille', 'per mille', '‰'],
  ['power', 1e-3, 'w', 'watt'],
  ['power', 1, 'kw', 'kilowatt'],
  ['energy', 1e-3, 'wh'],
  ['energy', 1, 'kwh'],
  ['USD', 1, 'usd', '$', 'us$', 'dollar', 'dollars', 'dolares', 'dollaro', 'dollari', 'dolar'],
  ['EUR', 1, 'eur', '€', 'euro', 'euros'],
  ['GBP', 1, 'gbp', '£'],
  ['CHF', 1, 'chf', 'franken', 'sfr'],
  ['JPY', 1, 'jpy', '¥', 'yen', '円'],
  ['CNY', 1, 'cny', 'rmb', 'yuan', 'renminbi', '人民币'],
  ['CAD', 1, 'cad', 'c$', 'ca$'],
  ['AUD', 1, 'aud', 'a$', 'au$'],
  ['NZD', 1, 'nzd', 'nz$'],
  ['SGD', 1, 'sgd', 's$'],
  ['HKD', 1, 'hkd', 'hk$'],
  ['MXN', 1, 'mxn', 'mx$'],
  ['BRL', 1, 'brl', 'r$', 'real', 'reais'],
  ['INR', 1, 'inr', '₹', 'rs', 'rupee', 'rupees'],
  ['KRW', 1, 'krw', '₩', plain('원')],
  ['TRY', 1, '₺'],
  ['RUB', 1, 'rub', '₽', ...'руб рубль рубля рублеи'.split(' ')],
  // Hundredths of any of these.
  [
    'cent',
    1,
    ...'cent cents ct cts centime centimes centimos centesimo centesimi centavo centavos pence penny p ¢'.split(' '),
  ],
  ['celsius', 1, '°c', 'c', 'celsius'],
  ['fahrenheit', 1, '°f', 'f', 'fahrenheit'],
  ['speed', 1, 'km/h', 'kmh', 'kph'],
  ['speed', 3.6, 'm/s'],
  ['speed', 1.609344, 'mph'],
]
/** Of two sizes, of many countries, or of no fixed relation to any other: as they stand, or not at all. */
const ALONE =
  'kb mb gb tb kib mib gib tib mbit gbit gal gallon gallons cup cups tbsp tsp tl pint pints quart quarts fluid stone ton tons libra libras livre livres onza onzas pulgada pulgadas pie pies pied pieds milla millas miglia pfund zentner nm nautical knots square sq sqm sqft qm cubic quadratmeter kubikmeter hectare hectares hektar ha acre acres kcal cal kj bps basis canadian australian swiss'.split(
    ' ',
  )
const MONEY_ALONE =
  'sek nok dkk pln czk huf zar nt$ r kr kronor kroner kronur zł złoty złote złotych kc korun forint lei peso pesos franc francs ff mark dm sterling'.split(
    ' ',
  )
const UNITS = new Map(
  [
    ...KINDS,
    ...ALONE.map((name): Kind => [name, 1, name]),
    // Kinds of money are told by their capitals.
    ...MONEY_ALONE.map((name): Kind => [name.toUpperCase(), 1, name]),
  ].flatMap(([kind, size, ...names]) => names.map((name) => [name, { kind, size }] as const)),
)
export const UNIT_NAMES: readonly string[] = [...UNITS.keys()].filter((name) => /\p{L}/u.test(name))
/** Behind them words go on without a blank. */
const SIGNS = new RegExp(
  String.raw`^\s?(${anyWord([...UNITS.keys()].filter((name) => /\p{sc=Han}|\p{sc=Hang}/u.test(name)))})`,
  'u',
)
/** More countries than one write it. */
const SHARED: ReadonlySet<string> = new Set(['$', 'dollar', 'dollars', 'dolares', 'dollaro', 'dollari', 'dolar'])
const DOLLARS: ReadonlySet<string> = new Set(['usd', 'aud', 'cad', 'nzd', 'sgd', 'hkd', 'mxn'])

/** `before` and `behind`: what stands around the number. A unit that is none of these is taken for the one asked for. */
export function inUnitOf(
  reading: ValueReading<number>,
  before: string,
  behind: string,
  wanted?: string,
  isShort = false,
): ValueReading<number> {
  const target = wanted === undefined ? undefined : plain(wanted).replace('^', '')
  const to = target === undefined ? undefined : UNITS.get(target)
  const name = unitIn(before, behind)
  const from = name === undefined ? undefined : UNITS.get(name)
  // "5 euros 50", "5 lbs 3 oz"
  if (reading.value !== null && (isSplit(behind) || isSplit(`${FIRST_PART.exec(before)?.[1]}00${behind}`)))
    return unsure(reading.value)
  // A word or a sign that is not known here, as no Latin one is: of money or of measures it may be any.
  if (
    name === undefined &&
    to !== undefined &&
    reading.value !== null &&
    (OTHER.test(behind) || isOther(before, behind, to))
  )
    return unsure(reading.value)
  // "5k" may be a run, and "300 K" how warm it is.
  const isMeasure = target === 'k' || (to !== undefined && !isMoneyKind(to.kind))
  if (isShort && name === undefined && isMeasure && reading.value !== null) return unsure(reading.value)
  if (name === undefined || target === undefined || name === target) return reading
  if (SHARED.has(name) && DOLLARS.has(target)) return reading
  if (to === undefined) return reading
  const { value, guess } = reading
  const likely = value ?? guess
  if (likely === undefined) return reading
  // Money has no fixed rate, and a mass is no length.
  if (from?.kind !== to.kind) return unsure(likely)
  const there = Number(((likely * from.size) / to.size).toPrecision(12))
  return value === null ? unsure(there) : { value: there }
}

const OTHER = /^\s?(?:\p{Sc}|(?!\p{sc=Latn})\p{L})/u

/** `quilograms`, `kiloqram`, `cilogram` */
const KILOGRAM = /^(?:k|qu?|ch?)i+l[aeo]+[gq]/
/** `5 kilogramów`, of which grams are asked for: a unit as another language, or another case, has it. */
function isOther(before: string, behind: string, wanted: { readonly kind: string; readonly size: number }): boolean {
  const word = /^\s?(\p{L}+)/u.exec(behind)?.[1] ?? ''
  const lengths = [1, 2, 3].map((ending) => word.length - ending).filter((length) => length > 3)
  // Some have it before the number: `km 5`.
  const first = /(?<!\p{L})([kcm][gml]|kilo\p{L}+) [-+]?$/u.exec(before)?.[1] ?? ''
  const names = [
    ...lengths.map((length) => word.slice(0, length)),
    first,
    ...(KILOGRAM.test(word + first) ? ['kg'] : []),
  ]
  const like = names.map((name) => UNITS.get(name)).find((one) => one !== undefined)
  return like !== undefined && (like.kind !== wanted.kind || like.size !== wanted.size)
}

/** What is told in two numbers: behind the first of them. */
const SPLIT = /^ ?(\p{L}+|\p{Sc})\.?,? ?(?:(?:and|und|et|y|e|en) )?(\d\d?)(?![.,]?\d| ?[\p{Sc}%])(?: ?(\p{L}+))?/u
const FIRST_PART = /\d( ?(?:\p{L}+|\p{Sc})\.?,? ?(?:(?:and|und|et|y|e|en) )?)$/u

function isSplit(text: string): boolean {
  const [, unit = '', count = '', smaller] = SPLIT.exec(text) ?? []
  const [whole, part] = [UNITS.get(unit), UNITS.get(smaller ?? '')]
  if (!whole) return false
  const isMoney = isMoneyKind(whole.kind)
  if (smaller === undefined) return count.length === 2 && (isMoney || unit === 'm')
  return part !== undefined && (part.kind === whole.kind ? part.size < whole.size : isMoney && part.kind === 'cent')
}

const isMoneyKind = (kind: string) => kind !== kind.toLowerCase()

function unitIn(before: string, behind: string): string | undefined {
  const signs = SIGNS.exec(behind)?.[1]
  if (signs !== undefined) return signs
  const behindIt =
    /^\s?(per (?:cent|mille)|pour cent|por ci?ento|us\$|km\/h|m\/s|° ?[cf](?!\p{L})|\p{L}+(?:\^?\d)?|[%‰¢\p{Sc}])/u
      .exec(behind.replace(/^ (?:degrees?|grad|degres|grados) (?=\p{L})/u, ' '))?.[1]
      ?.replace('° ', '°')
      .replace('^', '')
  if (behindIt !== undefined && (UNITS.has(behindIt) || /\d$/.test(behindIt))) return behindIt
  // "in 5" are no inches.
  const beforeIt = /(\p{L}{2,}\$?|\p{L}\$|\p{Sc}|(?<!\p{L})r)[\s.+-]*$/u.exec(before)?.[1]
  return beforeIt !== undefined && isMoneyKind(UNITS.get(beforeIt)?.kind ?? '') ? beforeIt : undefined
}
