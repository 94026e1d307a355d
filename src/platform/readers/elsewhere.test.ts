/** Digits, numbers, dates and times of languages that have no words of their own here: right, or not sure. */
import { describe, expect, it } from 'vitest'
import { type ReadableKind, type ReaderContext, readValue, stretchesIn } from './index.js'

const REFERENCE = '2026-11-24'

const read = (type: 'number' | 'date' | 'time', text: string, around = text) =>
  readValue({ type } as { type: 'date' }, text, { around, reference: REFERENCE }).value

/** Of each stretch, read as it stands in its text. */
function readIn(type: ReadableKind, text: string, known: ReaderContext = {}) {
  const search = stretchesIn(type, text, known)
  let step = search.next()
  while (!step.done) step = search.next()
  return step.value.map(({ start, end }) => {
    const beside = { before: text.slice(0, start), behind: text.slice(end) }
    const context = { around: text, reference: REFERENCE, beside, ...known }
    return [text.slice(start, end), readValue({ type } as { type: 'date' }, text.slice(start, end), context).value]
  })
}

describe('numbers', () => {
  it('in the digits of every script', () => {
    for (let code = 0x80; code <= 0x10ffff; code++) {
      const digit = String.fromCodePoint(code)
      // Unicode counts each row from its zero on; what is equal to a plain digit has its value.
      if (!/\p{Nd}/u.test(digit)) continue
      const value = read('number', digit)
      const before = String.fromCodePoint(code - 1)
      if (/^\d$/.test(digit.normalize('NFKD'))) expect(value).toBe(Number(digit.normalize('NFKD')))
      else if (!/\p{Nd}/u.test(before)) expect([digit, value]).toEqual([digit, 0])
      else expect([digit, value]).toEqual([digit, ((read('number', before) as number) + 1) % 10])
    }
  })

  it.each([
    ['١٬٢٥٠٫٧٥', 1250.75],
    ['١٫٢٥٠', 1.25],
    ['١٬٢٥٠', 1250],
    ['١٬٢٥', null],
    ['١،٢٥٠', null],
    ['۱۲٫۵٪', 12.5],
    ['\u200e−۳', -3],
    ['१२,३४,५६७', 1234567],
    ['１，２５０円', 1250],
    ['総額1,250円', 1250],
    ['1億2000万円', 120_000_000],
    ['12,345千円', 12_345_000],
    ['3万5千円', 35_000],
    ['3万500円', 30_500],
    ['3万5', null],
    ['1億2000', null],
    ['1.5亿元', 150_000_000],
    ['10兆円', 1e13],
    ['10兆赫', null],
    ['5千克', 5],
    ['5千', 5000],
    ['三万5千', null],
    ['3만 5천 원', 35_000],
    ['1억 2,000만 원', 120_000_000],
    ['5조각', null],
    ['5만들', null],
    ['30여 명', null],
    ['12個', 12],
    ['12个', 12],
    ['3時間半', null],
    ['3分の1', null],
    ['数10人', null],
    ['10数人', null],
    ['△3,500', null],
    ['①250個', null],
    ['三千五百円', 3500],
    ['二十四個', 24],
    ['三人', 3],
    ['人民币叁仟伍佰元整', 3500],
    ['三千零五元', 3005],
    ['三千五円', null],
    ['三四人', null],
    ['第三回', null],
    ['数千円', null],
    ['上百人', null],
    ['3割引', null],
    ['3,5 trilyon', null],
    ['4 bln', null],
    ['2 mi', null],
    ['3,5 триллиона', null],
    ['5 yüz', null],
    ['六本木', null],
    ['千葉', null],
    ['5 тыс. руб.', 5000],
    ['5 млн', 5_000_000],
    ['2 مليون', 2_000_000],
    ['3 लाख', 300_000],
    ['5 ล้าน', 5_000_000],
    ['5 ล้านบาท', null],
    ['5 พนักงาน', null],
    ['12 bin', null],
    ['5 εκ.', null],
    ['5 εκατ.', 5_000_000],
    ['6 अरब देश', null],
    ['elfu 5', null],
    ['1,25 tusen', 1250],
    ['气温-3度', null],
    ['EUR-3.00', -3],
    ['-₹3', -3],
    ['"-3"', -3],
    ['{"t":-3}', -3],
    ['5"-7"', null],
    ['(3,00 €)', -3],
    ['-%3', -3],
  ])('%s is %s', (text, value) => expect(read('number', text)).toBe(value))

  it.each([
    ['4 bln', 'The fund has 4 bln dollars and it is the largest', 4e9],
    ['4 bln', 'Budżet wynosi 4 bln zł w tym roku', null],
    ['4 bln', 'La spesa è di 4 bln di euro', null],
    ['3 bn', 'Le budget est de 3 bn dans les caisses', null],
    ['2 mi', 'The distance is 2 mi from the station', 2],
    ['2 mi', 'O lucro foi de 2 mi de reais no ano', null],
  ])('%s in "%s" is %j', (text, around, value) => expect(read('number', text, around)).toBe(value))

  it.each(
    [
      'biliard biliardów biliarda bilijarda billiárd billiarder biljardia bilijun trylion tryliard triliarda trillió',
      'kwadrylion kvadrilión kvadriljoonaa katrilyon kentilyon kwintylion cvadrilioane biliarde квадриллион біліард',
      'билијарда бильйон τετράκις τρισεκατομμύριο Billiarden Trilliarde Quadrilliarde trilliards quadrillion sextillion',
      'cuatrillones trillón billardo millardo biliardi triliardo quadrilioni trilião quatrilhões quadriljoen بیلیارد 京',
    ].flatMap((line) => line.split(' ')),
  )('a size beyond all that are read is no part of nothing: 2 %s', (size) => {
    expect(readValue({ type: 'number' }, `2 ${size}`).value).toBeNull()
    expect(readValue({ type: 'number' }, `2 ${size}`, { locale: 'pl' }).value).toBeNull()
  })

  it.each(['billing periods', 'bilateral talks', 'trilogies', 'nylon bags', 'quadrilles', 'pylons'])(
    'what only begins like one is counted: 2 %s',
    (what) => expect(readValue({ type: 'number' }, `2 ${what}`).value).toBe(2),
  )

  it('a mark of Arabic is no other one, whatever the language around it', () => {
    const german = 'Der Preis ist nicht auf der Rechnung und das ist'
    expect(read('number', '١٫٢٥٠', german)).toBe(1.25)
    expect(read('number', '١٬٢٥٠', german)).toBe(1250)
  })

  it.each([
    [
      '総額1,250円(税込)を12個',
      [
        ['1,250', 1250],
        ['12', 12],
      ],
    ],
    ['費用は1億2000万円です', [['1億2000万', 120_000_000]]],
    [
      '参加者は三人、会費は三千五百円',
      [
        ['三', 3],
        ['三千五百', 3500],
      ],
    ],
    ['الإجمالي ١٬٢٥٠٫٧٥ ريال', [['١٬٢٥٠٫٧٥', 1250.75]]],
    [
      'Saldo «-3», (€3.00)',
      [
        ['-3', -3],
        ['(€3.00)', -3],
        ['3.00', 3],
      ],
    ],
    [
      '١٢\u200f\n\u200f٣٤٥',
      [
        ['١٢', 12],
        ['٣٤٥', 345],
      ],
    ],
    ['a 𝟙𝟚 b', [['𝟙𝟚', 12]]],
  ])('stand in %s', (text, found) => expect(readIn('number', text)).toEqual(found))
})

it.each([
  ['05.03', '', '.2024'],
  ['250', '1,', ''],
  ['12', '', ':30'],
  ['٢٥٠', '١٬', ''],
])('a part of a longer number, as %s, is no number', (text, before, behind) =>
  expect(readValue({ type: 'number' }, text, { language: 'en', beside: { before, behind } }).value).toBeNull(),
)

describe('dates', () => {
  it.each([
    ['令和6年3月5日', '2024-03-05'],
    ['令和元年5月1日', '2019-05-01'],
    ['民國113年3月5日', '2024-03-05'],
    ['二〇二四年三月十五日', '2024-03-15'],
    ['２０２４年３月５日', '2024-03-05'],
    ['2024年3月5日(火)', '2024-03-05'],
    ['2024年3月5日(月)', null],
    ['2024年2月30日', null],
    ['2024년 3월 5일', '2024-03-05'],
    ['2024. 3. 5.', '2024-03-05'],
    ['3月5日', '2027-03-05'],
    ['去年12月5日', null],
    ['公元前221年3月5日', null],
    ['農曆2024年3月5日', null],
    ['3月3日〜5日', null],
    ['24/03/05に', null],
    ['25/3/2567 ครับ', '2024-03-25'],
    ['25/3/67 ครับ', null],
    ['๕ มีนาคม ๒๕๖๗', '2024-03-05'],
    ['5 มีนาคม พ.ศ. 2567', '2024-03-05'],
    ['٥ مارس ٢٠٢٤', '2024-03-05'],
    ['٢٥\u200f/٣\u200f/٢٠٢٤', '2024-03-25'],
    ['۱۴۰۳/۰۳/۲۵', null],
    ['२०८१-०३-२५', null],
    ['5 марта 2024', '2024-03-05'],
    ['с 3 по 5 марта 2024', null],
    ['5 марта', null],
    ['5 במרץ 2024', '2024-03-05'],
    ['5 मार्च 2024', '2024-03-05'],
    ['२ जाने, २०२४', null],
    ['2024. február 29.', null],
    ['R6/2/29', null],
  ])('%s is %s', (text, value) => expect(read('date', text)).toBe(value))

  it.each([
    ['去年12月5日に届きました', [['12月5日', null]]],
    ['農曆2024年3月5日', [['2024年3月5日', null]]],
    ['会議は2024年3月5日(火)です', [['2024年3月5日', '2024-03-05']]],
  ])('stand in %s', (text, found) => expect(readIn('date', text)).toEqual(found))
})

it.each([
  ['午後 3:30', '15:30'],
  ['오후 3:30', '15:30'],
  ['PM 3:45', '15:45'],
  ['3:30 م', '15:30'],
  ['١٢:٢٠ ص', '00:20'],
  ['3:30 μ.μ.', '15:30'],
  ['晚上 8:00', null],
  ['오전 12:20', null],
  ['3:30 chiều', null],
  ['3:30 ptg', null],
  ['3:30 عصرا', null],
  ['12:30 ночи', null],
  ['akşam 8:30', null],
  ['8:30 malam', null],
  ['8:30 wieczorem', null],
  ['3 M.D.', null],
  ['2024-03-05 PM 3:45', null],
  ['PM 3:45 - PM 6:00', null],
  ['10 PM, 6:30', null],
])('%s is %s', (text, value) => expect(read('time', text)).toBe(value))

it('a unit of one letter or two is a guess in a text of another language, as Turkish has weeks for h', () => {
  const hours = (around: string) => readValue({ type: 'duration', unit: 'hours' }, '3 h', { around })
  expect(hours('Teslimat süresi 3 h olacaktır')).toEqual({ value: null, guess: 3 })
  for (const ours of [
    '3 h',
    'Dauer: 3 h',
    'Durée : 3 h',
    'The flight of Mr Şahin is 3 h and it is the last',
    '所要時間は3 h',
  ])
    expect(hours(ours)).toEqual({ value: 3 })
})

it('a unit of other letters is not the one that is asked for', () => {
  const inUnit = (text: string, unit: string) => readValue({ type: 'number', unit }, text, { around: text })
  for (const [text, unit, value] of [
    ['5 кг', 'g', 5000],
    ['5公斤', 'g', 5000],
    ['5 斤', 'kg', null],
    ['3,500円', 'JPY', 3500],
    ['3,500円', 'USD', null],
    ['3,500원', 'KRW', 3500],
    ['5 тыс. руб.', 'RUB', 5000],
    ['5 тыс. руб.', 'EUR', null],
    ['500 ฿', 'USD', null],
    ['-$5', 'EUR', null],
    ['EUR-5', 'USD', null],
    ['5 kilogramów', 'g', null],
    ['5 kilogramów', 'kg', 5],
    ['5 złotych', 'EUR', null],
    ['5 libras', 'kg', null],
    ['5 Tonnen', 'kg', 5000],
    ['5k', 'km', null],
    ['300 K', 'K', null],
    ['120k km', 'km', 120_000],
  ] as const)
    expect([text, unit, inUnit(text, unit).value]).toEqual([text, unit, value])
})

describe('in our languages all is as it was', () => {
  it.each([
    ['Seit 2010 bin ich dort, und das ist der Beruf', [['2010', 2010]]],
    ['Seit 2010 bin ich Lehrer', [['2010 bin', null]]],
    ['Total:1250', [['1250', 1250]]],
    ['{"total":12.5}', [['12.5', 12.5]]],
    ['at -2½ degrees', [['-2½', -2.5]]],
    ['€-2½', [['-2½', -2.5]]],
    ['€50 m²', [['50', 50]]],
    [
      '1.250 · 3.400',
      [
        ['1.250', null],
        ['3.400', null],
      ],
    ],
  ])('numbers stand in %s', (text, found) => expect(readIn('number', text)).toEqual(found))

  it('a size is a part of its number', () => {
    const beside = { before: '', behind: ' million' }
    expect(readValue({ type: 'number' }, '5', { beside }).value).toBeNull()
    expect(readValue({ type: 'number' }, '12 bin', { locale: 'tr' }).value).toBe(12_000)
  })

  it.each([
    ['31/12/24', '31/12/24 · 15:30'],
    ['31/12/24', 'São Paulo, 31/12/24'.normalize('NFD')],
  ])('a date has its order, in %s of %s', (text, around) => expect(read('date', text, around)).toBe('2024-12-31'))

  it.each([
    ['order 1234 of 5 March', '2027-03-05'],
    ['2024. gada 5 March', null],
  ])('a day is of the nearest year, in %s', (text, value) => expect(readIn('date', text)[0]![1]).toBe(value))
})

describe('a number of a range is a guess', () => {
  it.each([
    '5-7 people',
    'We need 5 – 7 chairs.',
    '5 to 7',
    'from 5 kg to 7 kg',
    'between 5 and 7 of them are in the box',
    '$5M to $7M',
    '5 million to $7 million',
    '5€-7€',
    '5%-7%',
    '€5 -€7',
    'we won 5:4, then 5/7',
    'five to seven people are in the room',
    'the cost is 1,000-2,000',
    '10 or 12',
    '7 minus 5',
    '5...7',
    'zwischen 5 und 7 Personen sind in der Halle',
    'zwei bis drei Personen sind in der Halle',
    'il y a entre 5 et 7 personnes dans la salle',
    'de 5 a 7 personas',
    'da 5 a 7 persone',
    'er zijn 2 of 3 mensen bij ons',
    '5〜7人',
    '5～7人',
    '三至五人',
    '3人から5人',
    '5명에서 7명',
    'от 5 до 7 человек',
    'من 5 إلى 7',
    '5 ถึง 7',
    '%5 – %7',
  ])('%s', (text) => {
    const found = readIn('number', text)
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter(([, value]) => value !== null)).toEqual([])
  })

  it.each([
    ['page 4 of 5 of the book', [4, 5]],
    ['4.5/5', [4.5, null]],
    ['12 and 30', [12, 30]],
    ['5 kg and 7 kg', [5, 7]],
    ['between 5 meetings', [5]],
    ['We sold 5 apples to 7 customers.', [5, 7]],
    ['a 3-year plan for 20 km/h', [3, 20]],
    ['COVID-19', [19]],
    ['5 to\n7', [5, 7]],
    ['up to 7 people', [7]],
    ['€-7', [-7]],
  ])('but %s is none', (text, values) => expect(readIn('number', text).map(([, value]) => value)).toEqual(values))

  it.each(['100 to 120 minutes', '5~7 hours', '3 до 5 hours', '5h-7h', '30min~1h', 'three to four hours of the day'])(
    'so is a length: %s',
    (text) => expect(readIn('duration', text).filter(([, value]) => value !== null)).toEqual([]),
  )

  it.each([
    ['time', '5~7 pm'],
    ['date', '2026-03-03/05'],
    ['date', '3~5 March 2026'],
  ] as const)('and a %s: %s', (type, text) => expect(readIn(type, text).map(([, value]) => value)).toEqual([null]))
})

describe('what may say another thing elsewhere is a guess', () => {
  it.each([
    ['number', '5 万円', null],
    ['number', '3 億', null],
    ['number', '5 千克', 5],
    ['number', '5 tkr', null],
    ['number', '5 трлн', null],
    ['number', '2 miliwn', null],
    ['number', '3 ألف', 3000],
    ['number', '3 الف', null],
    ['number', 'کلاس 3 الف', null],
    ['date', '24/2/29', null],
    ['date', 'the bill of 24/2/29 is in the mail', '2029-02-24'],
    ['time', '3:30 du.', null],
    ['time', 'este 8:30', null],
    ['time', '8:30 este lunes', '08:30'],
    ['time', '8:30 вечера', null],
    ['time', '8:30 på kvällen', null],
    ['time', '3:30 odp.', null],
    ['time', 'в 9:30 в офисе', '09:30'],
    ['time', '9:30 du lundi', '09:30'],
  ] as const)('%s: %s', (type, text, value) => expect(readIn(type, text).map((one) => one[1])).toEqual([value]))

  it.each([
    ['number', '3 الف', 'ar', 3000],
    ['number', '3 الف', 'fa', null],
    ['duration', '2h', 'tr', null],
    ['duration', '2h', 'en', 7200],
  ] as const)('%s: %s in %s', (type, text, locale, value) =>
    expect(readValue({ type }, text, { locale, around: text }).value).toBe(value),
  )

  it.each([
    ['5 quilograms', null],
    ['5 kiloqram', null],
    ['kilogramu 5', null],
    ['km 5', null],
    ['g 5', 5],
  ])('of %s, grams', (text, value) => {
    const [before, behind] = text.split('5') as [string, string]
    expect(readValue({ type: 'number', unit: 'g' }, '5', { beside: { before, behind } }).value).toBe(value)
  })
})

describe('what the runtime itself writes anywhere is read back, or not sure', () => {
  const locales =
    'en-IN de-CH fr-CH sv-SE fi-FI is-IS et-EE lv-LV lt-LT pl-PL cs-CZ hu-HU ro-RO bg-BG uk-UA ru-RU sr-RS hr-HR el-GR tr-TR ka-GE hy-AM kk-KZ he-IL ar-EG ar-SA ar-MA ar-DZ ar-LB fa-IR ur-PK ckb-IQ hi-IN hi-IN-u-nu-deva mr-IN ne-NP bn-BD ta-IN te-IN my-MM km-KH lo-LA th-TH th-TH-u-nu-thai vi-VN id-ID ja-JP ja-JP-u-nu-fullwide ja-JP-u-ca-japanese ko-KR zh-CN zh-TW zh-TW-u-ca-roc zh-HK am-ET'.split(
      ' ',
    )
  it.each(locales)('%s', (name) => {
    const region = name.replace(/-u-.*/, '')
    const own = new Intl.DisplayNames([name], { type: 'language' }).of(region)
    // Made once: to make one takes far longer than to write with it.
    const numbers = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(name, options)
    const euros = { style: 'currency', currency: 'EUR' } as const
    const [plain, percent] = [
      numbers({ maximumFractionDigits: 3 }),
      numbers({ style: 'percent', maximumFractionDigits: 1 }),
    ]
    const money = [numbers({ ...euros, currencySign: 'standard' }), numbers({ ...euros, currencySign: 'accounting' })]
    const ranges = [numbers({}), numbers({ style: 'percent' }), numbers(euros)]
    const compact = numbers({ notation: 'compact', compactDisplay: 'long' })
    const dates = (['full', 'long', 'medium', 'short'] as const).map(
      (dateStyle) => new Intl.DateTimeFormat(name, { dateStyle, timeZone: 'UTC' }),
    )
    const hours = new Intl.DateTimeFormat(name, { timeStyle: 'short', timeZone: 'UTC' })
    for (const locale of [undefined, region]) {
      const context = (around: string) => ({
        around: `${own}: ${around}`,
        reference: REFERENCE,
        ...(locale && { locale }),
      })
      const check = (
        wanted: { type: 'number'; unit?: string } | { type: 'date' | 'time' },
        text: string,
        value: unknown,
      ) => {
        const reading = readValue(wanted, text, context(text)).value
        if (reading !== null) expect([name, text, reading]).toEqual([name, text, value])
      }
      for (const value of [0, 5, 12, 345, 1250, 12345, 1234567, 1.5, 12.25, 1250.5, 0.25, -3, -1250.75]) {
        check({ type: 'number' }, plain.format(value), value)
        check({ type: 'number' }, percent.format(value), Math.round(value * 1000) / 10)
        for (const format of money) {
          check({ type: 'number', unit: 'EUR' }, format.format(value), value)
          check({ type: 'number', unit: 'USD' }, format.format(value), undefined)
        }
      }
      for (const format of ranges)
        for (const [from, to] of [
          [5, 7],
          [1000, 2000],
        ] as const) {
          const text = format.formatRange(from, to)
          const places = readIn('number', text, { ...context(text) })
          expect([name, text, places.filter(([, value]) => value !== null)]).toEqual([name, text, []])
        }
      for (const value of [1000, 5000, 2e6, 3e9]) {
        // Nepal's data say ten times as much, and Kurdish letters of ours.
        if (!/^(?:ne|ckb)/.test(name)) check({ type: 'number' }, compact.format(value), value)
      }
      for (const day of ['2024-02-29', '2024-03-05', '2025-10-09', '2026-12-25', '2024-06-30', '2024-01-02'])
        for (const format of dates) check({ type: 'date' }, format.format(new Date(day)), day)
      for (const time of ['00:20', '03:05', '12:15', '15:45', '23:59'])
        check({ type: 'time' }, hours.format(new Date(`2024-03-05T${time}Z`)), time)
    }
  })
})
