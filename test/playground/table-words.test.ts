import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../../apps/playground/page/drops.js'
import { schemaOf } from '../../apps/playground/page/schema-fields.js'
import { csvOf, harmless, parseCsv } from '../../apps/playground/page/table/csv.js'
import { draftRequest, fieldsFromAnswer, fieldsFromWords } from '../../apps/playground/page/table/draft-schema.js'
import { tableAsCsv, tableAsJsonLines } from '../../apps/playground/page/table/export.js'
import {
  editsFor,
  leastSure,
  type Row,
  readByHand,
  stateOf,
  surenessOf,
  valueIn,
} from '../../apps/playground/page/table/rows.js'
import { isTextFile, textsIn, textsInCsv, textsInFiles } from '../../apps/playground/page/table/texts.js'
import { compile } from '../../src/grammar/structured.js'

const drafted = (sentence: string) =>
  fieldsFromWords(sentence)
    .map(({ name, kind, options }) => `${name} ${kind}${options === '' ? '' : ` (${options})`}`)
    .join('; ')

describe('a folder that is dropped', () => {
  const file = (name: string): FileSystemEntry =>
    ({
      name,
      isFile: true,
      isDirectory: false,
      file: (take: (file: File) => void) => take(new File([name], name)),
    }) as never
  /** As browsers have it: a hundred at a time. */
  const folder = (name: string, within: readonly FileSystemEntry[]): FileSystemEntry =>
    ({
      name,
      isFile: false,
      isDirectory: true,
      createReader: () => {
        let at = 0
        return {
          readEntries: (take: (entries: readonly FileSystemEntry[]) => void) => {
            at += 100
            take(within.slice(at - 100, at))
          },
        }
      },
    }) as never

  it('is all that is in it, however deep and however much, by name, without what is hidden', async () => {
    const many = Array.from({ length: 250 }, (_, i) => file(`${250 - i}.txt`))
    const dropped = [
      folder('mails', [folder('old', many), file('.DS_Store'), file('a.txt'), folder('.git', [file('x')])]),
    ]
    const names = (await filesBelow(dropped)).map(({ name }) => name)
    expect(names).toEqual(['a.txt', ...Array.from({ length: 250 }, (_, i) => `${i + 1}.txt`)])
  })

  it('is named where the browser may not read a file of it, and the others are texts', async () => {
    const refused = new DOMException('It is gone.', 'NotFoundError')
    const gone = { ...file('gone.txt'), file: (_: unknown, fail: (error: unknown) => void) => fail(refused) } as never
    const unread = new File(['x'], 'unread.txt')
    unread.arrayBuffer = () => Promise.reject(refused)
    const files = await filesBelow([folder('mails', [gone, file('a.txt')])])
    const { texts, without } = await textsInFiles([...files, unread])
    expect([texts.map(({ text }) => text), without]).toEqual([['a.txt'], ['gone.txt', 'unread.txt']])
  })
})

describe('columns from a sentence', () => {
  it.each([
    [
      'From each review: the author, the product, how many stars, the price and whether they would recommend it.',
      'author text; product text; stars integer; price number; recommend boolean',
    ],
    [
      'I want the sender, the due date, the total and the currency of each invoice',
      'sender text; due_date date; total number; currency text',
    ],
    [
      'priority (low, medium, high), who reported it, version, os',
      'priority choice (low, medium, high); reported_by text; version text; os text',
    ],
    [
      'For each ticket the product and the sentiment: positive, neutral or negative',
      'product text; sentiment choice (positive, neutral, negative)',
    ],
    [
      'is it urgent, what was ordered, quantity, when it is due, all attendees',
      'urgent boolean; ordered text; quantity integer; due_date date; attendees texts',
    ],
    [
      "Who sent it? When is it due? How much does it cost? The customer's name",
      'sent_by text; due_date date; cost number; customer_name text',
    ],
    ['name, tags, is_customer (yes/no), stars (1-5)', 'name text; tags texts; is_customer boolean; stars integer'],
    ['Name; Straße; Größe', 'name text; straße text; große text'],
    ['author, author, author', 'author text'],
    ['', ''],
    ['...', ''],
  ])('%j', (sentence, fields) => {
    expect(drafted(sentence)).toBe(fields)
  })

  it('are a schema that /v1 takes, whatever is written', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem({ mode: 'sentences' })), (sentence) => {
        const fields = fieldsFromWords(sentence)
        expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length)
        for (const { name } of fields) expect(name).toMatch(/^[\p{L}\p{N}_]+$/u)
        compile(schemaOf(fields))
      }),
    )
  })

  it('come from a larger model under a schema of their own', () => {
    const { response_format } = draftRequest('some/model', 'stars and mood', 'Fine. 4 of 5.')
    const answer = {
      fields: [
        { name: 'stars', kind: 'integer', choices: [] },
        { name: 'mood', kind: 'choice', choices: ['good', 'so, so', 'bad'] },
        { name: 'mood', kind: 'text', choices: [] },
        { name: 'place', kind: 'choice', choices: ['here'] },
      ],
    }
    const text = JSON.stringify(answer)
    expect(compile(response_format!.json_schema.schema).accepts(text)).toBe(true)
    expect(fieldsFromAnswer(text)).toEqual([
      { name: 'stars', kind: 'integer', options: '' },
      { name: 'mood', kind: 'choice', options: 'good, so  so, bad' },
      { name: 'place', kind: 'text', options: '' },
    ])
  })
})

describe('texts of a table', () => {
  it('are lines, or paragraphs where these have several', () => {
    const texts = (pasted: string) => textsIn(pasted).map(({ text }) => text)
    expect(texts('one\ntwo\r\n\n three ')).toEqual(['one', 'two', 'three'])
    expect(texts('Dear all,\nhello.\n\nDear you,\nbye.\n')).toEqual(['Dear all,\nhello.', 'Dear you,\nbye.'])
    expect(texts(' \n\n ')).toEqual([])
  })

  it('of a CSV file are its rows, with the names of its columns', () => {
    const texts = (csv: string) => textsInCsv(csv, 'a.csv').map(({ text }) => text)
    expect(texts('who,said\nAda,"Hello, you"\nBen,"She said ""no"""\n')).toEqual([
      'who: Ada\nsaid: Hello, you',
      'who: Ben\nsaid: She said "no"',
    ])
    expect(texts('review\nIt is good.\n"Two\nlines"')).toEqual(['It is good.', 'Two\nlines'])
    expect(texts('who;amount\r\nAda;1,5\r\n')).toEqual(['who: Ada\namount: 1,5'])
    expect(texts('\uFEFFa\tb\n1\t\n')).toEqual(['a: 1'])
    expect(texts('It is good.\nIt is bad.')).toEqual(['It is good.', 'It is bad.'])
  })

  it('of a spreadsheet that is pasted are its rows, and lines with tabs are lines', () => {
    const texts = (pasted: string) => textsIn(pasted).map(({ text }) => text)
    expect(texts('who\tsaid, here\r\nAda\t"Two\nlines"\r\nBen\tno\r\n')).toEqual([
      'who: Ada\nsaid, here: Two\nlines',
      'who: Ben\nsaid, here: no',
    ])
    expect(texts('12:00\tERROR\tfull\n12:01\tstarted')).toEqual(['12:00\tERROR\tfull', '12:01\tstarted'])
  })

  it('of files are one each, or one for each row or line, whatever wrote their letters', async () => {
    const bytes = (...text: string[]) => Uint8Array.from(text.join(''), (letter) => letter.charCodeAt(0))
    const files = [
      new File(['Grüße,\nAda\n'], 'a.txt'),
      // As German spreadsheets save it.
      new File([bytes('Name;Ort\r\nM\xfcller;K\xf6ln\r\n')], 'b.csv'),
      new File([bytes('\xff\xfe', 'a\0\xe4\0')], 'c.txt'),
      new File(['12:00 full\n\n12:01 started\n'], 'd.log'),
      new File(['{"a":1}\n{"a":2}\n'], 'e.jsonl'),
      new File([' \n'], 'empty.txt'),
    ]
    expect(files.every(isTextFile)).toBe(true)
    expect((await textsInFiles(files)).texts.map(({ text, from }) => `${from}: ${text}`)).toEqual([
      'a.txt: Grüße,\nAda',
      'b.csv: Name: Müller\nOrt: Köln',
      'c.txt: aä',
      'd.log: 12:00 full',
      'd.log: 12:01 started',
      'e.jsonl: {"a":1}',
      'e.jsonl: {"a":2}',
    ])
  })

  it('are written as CSV so that they are read back', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'ä', ' ', ',', ';', '"', '\n', '\r\n', '\t', '=') })
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1 }), (rows) => {
        // The first row says that it is commas that separate.
        const all = [['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'], ...rows]
        expect(parseCsv(csvOf(all))).toEqual(all)
      }),
    )
  })

  it('of strangers compute nothing in a spreadsheet', () => {
    for (const cell of ['=1+1', '@SUM(A1)', '+cmd|x', '-2+3+cmd|x']) expect(harmless(cell)).toBe(`'${cell}`)
    for (const cell of ['-5', '+49 30 1234', 'a=b', '', '- 3.5']) expect(harmless(cell)).toBe(cell)
  })
})

describe('a row', () => {
  const fields = [
    { name: 'stars', kind: 'integer', options: '' },
    { name: 'tags', kind: 'texts', options: '' },
    { name: 'a/b', kind: 'text', options: '' },
  ] as const
  const row: Row = {
    id: 0,
    text: '=4 of 5, small, red',
    json: '{"stars":4,"tags":["small","red"],"a/b":"x"}',
    evidence: {
      '/stars': { confidence: 0.9 },
      '/tags/0': { confidence: 0.8 },
      '/tags/1': { confidence: 0.3 },
      '/a~1b': { confidence: 0.7 },
    },
  }

  it('is as sure as its least sure value, and as a person who wrote it', () => {
    expect(surenessOf(row, 'tags')).toBe(0.3)
    expect(surenessOf(row, 'a/b')).toBe(0.7)
    expect(leastSure(row, fields)).toBe(0.3)
    const edited = { ...row, edited: { tags: ['red'] } }
    expect([valueIn(edited, 'tags'), leastSure(edited, fields)]).toEqual([['red'], 0.7])
  })

  it('shows what is written of a document that is not whole', () => {
    const part = { ...row, json: '{"stars":4,"tags":["sm' }
    expect(['stars', 'tags', 'a/b'].map((name) => valueIn(part, name))).toEqual([4, ['sm'], undefined])
    expect(valueIn(part, 'constructor')).toBeUndefined()
  })

  it('keeps what a person wrote, where there is still a field for it', () => {
    const edited = { stars: 'many', tags: ['red'], 'a/b': 'y', gone: 1 }
    expect(editsFor(fields, { ...row, edited })).toEqual({ tags: ['red'], 'a/b': 'y' })
    expect(editsFor(fields, { ...row, edited: { stars: 5 } })).toEqual({ stars: 5 })
    expect(editsFor(fields, row)).toBeUndefined()
  })

  it('that answers something else is shown, and is told apart', () => {
    const none = new Set<number>()
    expect(stateOf({ ...row, asked: 'a' }, 'a', none)).toBe('done')
    expect(stateOf({ ...row, asked: 'a' }, 'b', none)).toBe('stale')
    expect(stateOf({ ...row, asked: 'a', fault: 'x' }, 'b', none)).toBe('waiting')
    expect(stateOf({ ...row, asked: '' }, 'b', none)).toBe('waiting')
    expect(stateOf(row, 'b', none)).toBe('waiting')
    expect(stateOf(row, 'b', new Set([0]))).toBe('writing')
  })

  it('is exported as CSV and as lines of JSON', () => {
    expect(parseCsv(tableAsCsv([row], fields))).toEqual([
      ['stars', 'tags', 'a/b', 'text', 'least_sure'],
      ['4', 'small, red', 'x', "'=4 of 5, small, red", '0.300'],
    ])
    const files = [{ ...row, from: 'a.txt' }, row]
    expect(parseCsv(tableAsCsv(files, fields)).map((cells) => cells.at(-2))).toEqual(['file', 'a.txt', ''])
    expect(JSON.parse(tableAsJsonLines([{ ...row, edited: { stars: 5 } }], fields))).toEqual({
      document: { stars: 5, tags: ['small', 'red'], 'a/b': 'x' },
      text: row.text,
      confidence: { '/stars': 0.9, '/tags/0': 0.8, '/tags/1': 0.3, '/a~1b': 0.7 },
      by_hand: ['stars'],
    })
  })

  it.each([
    ['integer', '5', 5],
    ['integer', '5.5', undefined],
    ['number', ' 5.5 ', 5.5],
    ['number', '', undefined],
    ['boolean', 'Yes', true],
    ['boolean', 'no', false],
    ['boolean', 'perhaps', undefined],
    ['choice', 'HIGH', 'high'],
    ['choice', 'none', undefined],
    ['texts', 'a, b,c', ['a', 'b', 'c']],
    ['texts', '', []],
    ['text', ' a ', 'a'],
  ] as const)('reads what is written by hand into a cell: %s %j', (kind, written, value) => {
    expect(readByHand({ name: 'x', kind, options: 'low, high' }, written)).toEqual(value)
  })
})
