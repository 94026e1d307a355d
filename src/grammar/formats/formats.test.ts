import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runs } from '../../../test/support/full.js'
import { atOnce } from '../../platform/index.js'
import { differenceInSlices } from '../automata/sets.js'
import { walk } from '../automata/walk.test-helper.js'
import { acceptsText } from '../automata/words.js'
import { compile } from '../compile.js'
import { Fuel } from '../fuel.js'
import { judge } from '../judge.js'
import { compileRegex } from '../regex/regex.js'
import { fromSource } from '../texts.js'
import { formatAutomaton, IMPLIED, NUMBER_FORMATS } from './formats.js'
import { IDN_LETTERS, IDN_MOST } from './hosts.js'

const FORMATS = [
  ...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri', 'uri-reference'],
  ...['uri-template', 'json-pointer', 'relative-json-pointer', 'json-pointer-uri-fragment', 'url', 'regex'],
  ...['iso-time', 'iso-date-time'],
] as const

function ajvFormat(name: (typeof FORMATS)[number] | 'byte', text: string): boolean {
  const format = fullFormats[name] as unknown
  const check = (format as { validate?: unknown }).validate ?? format
  return check instanceof RegExp ? check.test(text) : (check as (text: string) => boolean)(text)
}

const VALID: Partial<Record<(typeof FORMATS)[number], readonly string[]>> = {
  date: ['2024-02-29', '2000-02-29', '1963-06-19', '0004-02-29', '0001-01-01'],
  time: [
    '08:30:06Z',
    '08:30:06.283185z',
    '23:59:60Z',
    '01:29:60+01:30',
    '23:29:60+23:30',
    '15:59:60-08:00',
    '00:29:60-23:30',
  ],
  'date-time': [
    '1963-06-19T08:30:06.283185Z',
    '1990-12-31T15:59:60.123-08:00',
    '1937-01-01t12:00:27.87+00:20',
    '1998-12-31T23:59:60Z',
  ],
  duration: ['P4DT12H30M5S', 'P4Y', 'PT0S', 'P0D', 'P1M', 'PT1M', 'PT36H', 'P1DT12H', 'P2W'],
  email: ['joe.bloggs@example.com', 'te~st@example.com', '~test@example.com', "o'neil+tag@sub.example.co.uk"],
  hostname: ['www.example.com', 'localhost', '1host', `${'a'.repeat(63)}.com`, 'h0stn4me', 'a-b--c.d'],
  ipv4: ['192.168.0.1', '0.0.0.0', '255.255.255.255'],
  ipv6: [
    '::1',
    '::',
    '::ffff:192.168.0.1',
    '1:2:3:4:5:6:7::',
    '::2:3:4:5:6:7:8',
    'd6::',
    '1::d6:192.168.0.1',
    '1:2:3:4:5:6:7:8',
  ],
  uuid: ['2EB8AA08-AA98-11EA-B4AA-73B441D16380', '00000000-0000-0000-0000-000000000000'],
  uri: [
    'http://foo.bar/?baz=qux#quux',
    'urn:oasis:names:tc',
    'http://223.255.255.254',
    'ldap://[2001:db8::7]/c=GB?objectClass?one',
    'mailto:a@b.c',
    "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
    'HTTPS://a.b.:65535',
    'http://[::1]:8080/a?b#c',
    'http://localhost',
    'http://a.1b',
    'http://3node:80/',
    'file:///etc/hosts',
    'foo:///a',
    'httpx:a',
  ],
  'uri-reference': ['/abc', '', '#frag', '//foo.bar/?baz', 'abc', '?q', '../x'],
  'uri-template': ['http://example.com/dictionary/{term:1}/{term}', '{/id*}', 'dictionary', ''],
  'json-pointer': ['', '/foo/bar~0/baz~1/%a', '/', '//', '/😀'],
  'relative-json-pointer': ['1', '0/foo/bar', '2/0/baz/1/zip', '0#'],
  'json-pointer-uri-fragment': ['#', '#/foo/b%20r', '#/~0~1'],
  url: ['https://example.com', 'http://a-b.example.co:8080/p/q?x=1#y', 'ftp://foo.bar/'],
  regex: [
    '^[a-z0-9_-]+$'.replace('_-', '_\\-'),
    '(?:a|b)*c{2,3}?',
    '\\d+\\.\\u{1F600}\\p{L}',
    '',
    '(?=a)b',
    '[^]|[]',
    'a(b)?',
  ],
  'iso-time': ['08:30:06', '08:30:06.5Z', '08:30:06+01:00'],
  'iso-date-time': ['2024-02-29 08:30:06', '2024-02-29T08:30:06Z'],
}
const INVALID: typeof VALID = {
  date: [
    '2023-02-29',
    '1900-02-29',
    '2021-04-31',
    '2020-13-01',
    '2020-00-10',
    '1998-1-20',
    '06/19/1963',
    '১963-06-19',
    '2020-01-01T',
    '0000-01-01',
  ],
  time: [
    '24:00:00Z',
    '00:60:00Z',
    '00:00:61Z',
    '22:59:60Z',
    '23:58:60Z',
    '23:59:60+01:00',
    '23:59:60+00:30',
    '08:30:06',
    '08:30:06 PST',
    '01:02:03+24:00',
    '01:02:03+00:60',
    '01:02:03+0300',
    '1:2:3Z',
    '24:59:60+01:00',
  ],
  'date-time': [
    '1990-02-31T15:59:59Z',
    '1990-12-31T15:59:59-24:00',
    '1963-06-19 08:30:06Z',
    '2013-350T01:01:01',
    '1998-12-31T22:59:60Z',
    '2021-02-29T00:00:00Z',
  ],
  duration: [
    'PT1D',
    'P',
    'P1YT',
    'PT',
    'P2D1Y',
    'P1D2H',
    'P2S',
    'P1Y2W',
    'P1',
    '4D',
    'PT1H1S',
    'P1Y1D',
    'PT0.5S',
    'P٢Y',
    // As long as small models write on.
    'P1234567890Y',
    'PT1H0M1234567890S',
  ],
  email: [
    '2962',
    'joe.bloggs',
    '.test@example.com',
    'test.@example.com',
    'te..st@example.com',
    'a@-b.c',
    'a@b',
    'a@b.c',
    'a@10.0.0.1',
    'jo e@example.com',
    `${'a'.repeat(65)}@example.com`,
    'a@[127.0.0.1]',
  ],
  hostname: [
    '-a-host',
    'not_valid',
    'a..b',
    `${'a'.repeat(64)}.com`,
    'trailing-.com',
    'xn--X',
    '',
    '.',
    'hostname.',
    `${'a.'.repeat(126)}ab`,
    'ab--cd',
    'ex。com',
  ],
  ipv4: [
    '127.0.0.0.1',
    '256.256.256.256',
    '127.0',
    '087.10.0.1',
    '1.2.3.4 ',
    '0x7f.0.0.1',
    '2130706433',
    '1২7.0.0.1',
    '192.168.1.0/24',
  ],
  ipv6: [
    '12345::',
    '1:1:1:1:1:1:1:1:1',
    '::laptop',
    ':2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7',
    '1::2::3',
    '::1%eth0',
    '1:2:3:4:5:6:7:8:',
    ':',
    '::ffff:192.168.0.999',
    '100:100:100:100:100:100:255.255.255.255.255',
    '0:0:0:0:0:0:0:1/64',
  ],
  uuid: [
    '2eb8aa08-aa98-11ea-b4aa-73b441d1638',
    '2eb8aa08aa9811eab4aa73b441d16380',
    'urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380',
    '2eb8aa08-aa98-11ea-b4aa-73b441d1638g',
  ],
  uri: [
    '//foo.bar',
    '/abc',
    '\\\\WINDOWS\\fileshare',
    'abc',
    'http:// shouldfail.com',
    ':// should fail',
    'bar,baz:foo',
    'https://[@example.org/test.txt',
    'https://example.org/foobar\\.txt',
    'https://example.org/foobar<>.txt',
    'http://a/é',
    '%20:x',
    // Which no one can open, though RFC 3986 has them.
    'http://',
    'https:/a',
    'http://:80',
    'ftp://user@',
    'http://a:65536',
    'http://256.0.0.1',
    'http://a.1',
    'http://a.0xz',
    'file://a:80/b',
    'foo://user@:1',
    'http://[v1.a]',
  ],
  'uri-reference': ['\\\\WINDOWS\\fileshare', '#frag\\ment', 'a b', 'é', '1:2'],
  'uri-template': ['http://example.com/dictionary/{term:1}/{term', '{', 'a b', '{a.b}'],
  'json-pointer': ['/foo/bar~', '/~2', 'a', '#', '0'],
  'relative-json-pointer': ['/foo/bar', '-1/foo', '0##', '01/a', '', '+1'],
  'json-pointer-uri-fragment': ['', '/a', '#a', '#/~2', '#/ '],
  url: ['example.com', 'http://localhost', 'mailto:a@b.cd', 'http://exa mple.com', 'http://a.b?x', 'http://-a.com'],
  regex: [
    '(',
    '[a',
    'a**',
    'a{2,1}',
    '\\',
    '\\a',
    '[z-a]',
    '(?=a)*',
    '\\1',
    '{',
    '(?<n>a)(?<n>b)',
    '\\u{110000}',
    '\\u{0}+',
  ],
  'iso-time': ['24:00:00', '8:30:06', '08:30'],
  'iso-date-time': ['2023-02-29 08:30:06', '2024-02-29'],
}

describe.each(FORMATS)('format %s', (name) => {
  const automaton = formatAutomaton(name)!

  it('accepts what the specification calls valid', () => {
    for (const text of VALID[name] ?? []) expect([text, acceptsText(automaton, text)]).toEqual([text, true])
  })

  it('rejects what the specification or ajv-formats calls invalid', () => {
    for (const text of INVALID[name] ?? []) expect([text, acceptsText(automaton, text)]).toEqual([text, false])
  })

  it('produces only what ajv-formats accepts', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 70 }), (choices) => {
        const text = walk(automaton, choices)
        expect(acceptsText(automaton, text)).toBe(true)
        expect([text, ajvFormat(name, text)]).toEqual([text, true])
      }),
      { numRuns: runs(1500) },
    )
  })

  it('rejects what ajv-formats rejects, one edit away from a valid text', () => {
    const letters = ['0', '9', '6', 'a', 'Z', '-', ':', '.', '/', '@', '%', '{', ' ', '😀', '+', '~']
    fc.assert(
      fc.property(
        fc.array(fc.nat(60), { maxLength: 40 }),
        fc.nat(60),
        fc.constantFrom(...letters),
        fc.nat(2),
        (choices, at, letter, cut) => {
          const valid = Array.from(walk(automaton, choices))
          valid.splice(at % (valid.length + 1), cut, letter)
          const text = valid.join('')
          if (!ajvFormat(name, text)) expect([text, acceptsText(automaton, text)]).toEqual([text, false])
        },
      ),
      { numRuns: runs(1500) },
    )
  })
})

describe('times', () => {
  it('accept leap seconds under exactly the offsets, in quarters of an hour, that make it 23:59 in UTC', () => {
    const time = formatAutomaton('time')!
    const minute = fc.oneof(
      fc.integer({ min: 0, max: 1439 }),
      fc.integer({ min: 0, max: 95 }).map((quarter) => quarter * 15 + 14),
    )
    const clock = (m: number) => `${String(Math.floor(m / 60)).padStart(2, '0')}:${String(m % 60).padStart(2, '0')}`
    fc.assert(
      fc.property(minute, fc.oneof(minute, fc.constant(-1)), fc.constantFrom('+', '-'), (local, other, sign) => {
        const fitting = sign === '+' ? (local + 1) % 1440 : 1439 - local
        const offset = other === -1 ? fitting : other
        const utc = (local - (sign === '+' ? offset : -offset) + 2880) % 1440
        const text = `${clock(local)}:60${sign}${clock(offset)}`
        expect([text, acceptsText(time, text)]).toEqual([text, utc === 1439 && offset % 15 === 0])
        expect(ajvFormat('time', text)).toBe(utc === 1439)
      }),
    )
  })
})

/** A text as RFC 3987 maps it to a URI: what is not ASCII, percent-encoded. */
const toUri = (iri: string) => iri.replace(/\P{ASCII}/gu, encodeURIComponent)
// With a label more, since a name that ends in digits is read as an address.
function isHost(host: string): boolean {
  const ascii = domainToASCII(`${host}.x`)
  const labels = ascii.split('.')
  const right = labels.every(
    (label) => label !== '' && label.length <= 63 && !label.startsWith('-') && !label.endsWith('-'),
  )
  return right && domainToUnicode(ascii) === `${host.toLowerCase()}.x` && ascii.length <= 255
}

/** Whether an address is followed by how many of its bits name the network, and all others are 0. */
function isNetwork(text: string): boolean {
  const [address = '', bits = ''] = text.split('/')
  const [size, part, radix] = isIP(address) === 4 ? [32, 8, 10] : [128, 16, 16]
  const [before = [], after = []] = address
    .split('::')
    .map((side) => side.split(/[.:]/).filter((group) => group !== ''))
  const groups = [...before, ...Array(size / part - before.length - after.length).fill('0'), ...after]
  const binary = groups.map((group) => Number.parseInt(group, radix).toString(2).padStart(part, '0')).join('')
  return isIP(address) !== 0 && Number(bits) <= size && !binary.slice(Number(bits)).includes('1')
}
const isInterface = (text: string) => isCidr.test(text.includes('/') ? text : `${text}/8`)
const isCidr = new RegExp(`${z.regexes.cidrv4.source}|${z.regexes.cidrv6.source}`)

/** Formats that ajv-formats does not have, and who else judges them. */
const OTHERS: Readonly<Record<string, (text: string) => boolean>> = {
  iri: (text) => ajvFormat('uri', toUri(text)),
  'iri-reference': (text) => ajvFormat('uri-reference', toUri(text)),
  'idn-hostname': isHost,
  'idn-email': (text) => {
    const [local, host, ...more] = text.split('@')
    return more.length === 0 && isHost(host!) && ajvFormat('email', `${local!.replace(/\P{ASCII}/gu, 'x')}@a.b`)
  },
  uuid4: (text) => z.uuidv4().safeParse(text).success,
  uuid7: (text) => z.uuidv7().safeParse(text).success,
  'time-local': (text) => ajvFormat('time', `${text}Z`),
  'date-time-local': (text) => ajvFormat('date-time', `${text}Z`),
  base64url: (text) => z.base64url().safeParse(text).success,
  byte: (text) => ajvFormat('byte', text),
  char: (text) => [...text].length === 1,
  ipvanyaddress: (text) => isIP(text) !== 0,
  ipvanynetwork: isNetwork,
  ipv4network: isNetwork,
  ipv6network: isNetwork,
  ipv4interface: isInterface,
  base64: (text) => z.base64().safeParse(text).success,
  guid: (text) => z.guid().safeParse(text).success,
  decimal: (text) => Number.isFinite(Number(text)) && /\d$/.test(text),
  fraction: (text) =>
    text.split('/').every((part, i) => Number.isInteger(Number(part)) && (i === 0 || Number(part) > 0)),
  path: (text) => text !== '' && !text.includes('\0'),
  // As Pydantic does: each of the hosts by itself in what stands around them.
  'multi-host-uri': (text) => {
    const [, before = '', hosts = '', behind = ''] = /^(\w[\w+.-]*:\/\/(?:[^@/?#]*@)?)([^/?#]+)(.*)$/.exec(text) ?? []
    return hosts !== '' && hosts.split(',').every((host) => URL.canParse(`${before}${host}${behind}`))
  },
}

describe.each(Object.entries(OTHERS))('format %s', (name, accepts) => {
  it('produces only what others accept', () => {
    const automaton = formatAutomaton(name)!
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 70 }), (choices) => {
        const text = walk(automaton, choices)
        expect([text, accepts(text)]).toEqual([text, true])
      }),
      { numRuns: runs(1500) },
    )
  })
})

describe('what is written less of than validators take', () => {
  it.each([
    ['duration', 'P1234567890Y', 'P1234567890'],
    ['byte', '-----BEGIN CERTIFICATE-----\naGk=\n-----END CERTIFICATE-----', 'a b'],
  ])('is listed and excluded as they take it: %s', (format, other, wrong) => {
    const accepted = (schema: object) =>
      [other, wrong].map((text) => compile({ type: 'string', ...schema }).accepts(JSON.stringify(text)))
    expect(accepted({ format })).toEqual([false, false])
    expect(accepted({ format, enum: [other, wrong] })).toEqual([true, false])
    expect(accepted({ not: { format } })).toEqual([false, true])
    expect(judge({ format }, other)).toBe(true)
  })

  it('is base64 of bytes, as OpenAPI has them', () => {
    for (const text of ['', 'aGk=', 'aGkh']) expect(acceptsText(formatAutomaton('byte')!, text)).toBe(true)
    for (const text of ['\n', 'a b\n', 'aGk', '20 minutes\naGk=']) {
      expect(acceptsText(formatAutomaton('byte')!, text)).toBe(false)
    }
  })
})

describe('links', () => {
  it('open as URLs', () => {
    const begins = [
      '',
      'http://',
      'https://u@',
      'ws://[',
      'ftp://1',
      'file://',
      'wss://a:',
      'foo://',
      'http://a.',
      'x:',
    ]
    const automaton = formatAutomaton('uri')!
    fc.assert(
      fc.property(fc.constantFrom(...begins), fc.array(fc.nat(60), { maxLength: 40 }), (begin, choices) => {
        const start = Array.from(begin).reduce(
          (state, letter) => automaton.next(state, letter.codePointAt(0)!),
          automaton.start,
        )
        const text = begin + walk(automaton, choices, start)
        expect([text, URL.canParse(text)]).toEqual([text, true])
      }),
      { numRuns: runs(3000) },
    )
  })
})

describe('networks and interfaces', () => {
  it.each([
    [
      'ipv4network',
      '10.0.0.0/8 192.168.4.0/22 0.0.0.0/0 1.2.3.4/32 1.2.3.128/25',
      '10.0.0.1/8 10.0.0.0 192.168.4.0/21 1.2.3.4/33',
    ],
    ['ipv6network', '2001:db8::/32 fe80::/10 fc00::/7 ::/0 1:2:3:4:5:6:7:8/128', '2001:db8::1/64 fe80::/8 ::/129 ::'],
    ['ipv4interface', '10.0.0.1/8 10.0.0.1', '10.0.0.1/33 10.0.0.1/'],
    ['ipv6interface', '2001:db8::1/64 ::1', '2001:db8::1/129 10.0.0.1'],
    ['ipvanyinterface', '2001:db8::1/64 10.0.0.1/8', '10.0.0/8'],
    ['name-email', 'ann@example.com', 'ann@b.c'],
    [
      'multi-host-uri',
      'postgres://u:p%40@a.b:5432,[::1]:1,1.2.3.4/db?x=1 mongodb+srv://u:p@a-1.b/?w=2 postgresql+asyncpg://my_db/a nats://a',
      'postgres:///db a,b postgres://a,/db postgres://a:70000 postgres://u@a,v@b postgres://1.2.3 file://a,b',
    ],
  ])('%s', (format, right, wrong) => {
    const accepted = (text: string) => acceptsText(formatAutomaton(format)!, text)
    expect(right.split(' ').filter((text) => !accepted(text))).toEqual([])
    expect(wrong.split(' ').filter(accepted)).toEqual([])
  })
})

describe('host names of other scripts', () => {
  it('have letters that are taken as they are, at most 63 bytes of punycode long', () => {
    for (const [letter] of String.fromCodePoint(...Array(0xd7a4).keys()).matchAll(
      new RegExp(`[${IDN_LETTERS}]`, 'gu'),
    )) {
      expect([letter, domainToUnicode(domainToASCII(`a${letter}`))]).toEqual([letter, `a${letter}`])
    }
    const letters = fc.constantFrom('à', 'ÿ', 'ά', 'ώ', 'а', 'џ', 'ぁ', 'ヺ', '一', '龥', '가', '힣', 'a', '9')
    fc.assert(
      fc.property(fc.array(letters, { minLength: IDN_MOST, maxLength: IDN_MOST }), (label) => {
        expect(domainToASCII(label.join('')).length).toBeLessThanOrEqual(63)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('are taken beside ASCII, and not where punycode or length cannot be told', () => {
    const automaton = formatAutomaton('idn-hostname')!
    for (const host of ['bücher.example', '例え.jp', 'пример.example', 'a-b.c', '한국'])
      expect([host, acceptsText(automaton, host)]).toEqual([host, true])
    for (const host of ['xn--X', '-ü.de', 'ü-', 'Ü.de', '〮', 'ü'.repeat(13), 'a..b', 'a_b'])
      expect([host, acceptsText(automaton, host)]).toEqual([host, false])
  })
})

describe('jwt', () => {
  const automaton = formatAutomaton('jwt')!
  const part = (value: object | string) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const token = (header: object | string) => `${part(header)}.${part({ sub: '1234567890', admin: true })}.c2lnbmF0dXJl`

  it('is what zod takes, whatever is written', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 200 }), (choices) => {
        const text = walk(automaton, choices)
        expect([text, z.jwt().safeParse(text).success]).toEqual([text, true])
      }),
      { numRuns: runs(500) },
    )
  })

  it.each<object | string>([
    { alg: 'HS256', typ: 'JWT' },
    { typ: 'JWT', alg: 'ES512' },
    { alg: 'none' },
    { alg: 'RS256', kid: '2024-key.1', typ: 'JWT' },
    { kid: 'a', typ: 'JWT', cty: 'x', alg: 'EdDSA', x5t: '' },
  ])('takes the header %j', (header) => {
    expect(acceptsText(automaton, token(header))).toBe(true)
    expect(z.jwt().safeParse(token(header)).success).toBe(true)
  })

  it.each<object | string>([
    {},
    { typ: 'JWT' },
    { alg: '' },
    { alg: 'a', typ: 'JWS' },
    '{"alg":"a","alg":""}',
    '[]',
    'x',
  ])('does not take the header %j', (header) => {
    expect(acceptsText(automaton, token(header))).toBe(false)
    expect(z.jwt().safeParse(token(header)).success).toBe(false)
  })

  it('has three parts in base64url', () => {
    const whole = token({ alg: 'HS256' })
    const cut = whole.slice(0, whole.lastIndexOf('.'))
    for (const text of [cut, `${cut}.`, `${whole}.YQ`, `${whole}=`, `${whole}+`, `${whole}a`])
      expect([text, acceptsText(automaton, text)]).toEqual([text, false])
    expect(acceptsText(automaton, `${whole}-_`)).toBe(true)
    expect(compile(z.toJSONSchema(z.jwt())).accepts(JSON.stringify(whole))).toBe(true)
  })
})

describe('other names', () => {
  it('have no automaton', () => {
    for (const name of ['color', '', 'constructor', 'int32']) expect(formatAutomaton(name)).toBeUndefined()
  })

  it('are refused, and listed where that is let pass', () => {
    for (const format of ['color', 'json-string', '', 'constructor', 'data', 'topic', 'zoneinfo']) {
      expect(() => compile({ type: 'string', format })).toThrow(
        `format '${format}' is not supported; say what it means in a 'pattern' instead.`,
      )
      const { notEnforced } = compile({ type: 'string', format }, { strict: false })
      expect(notEnforced.map(({ keyword }) => keyword)).toEqual(['format'])
    }
  })

  it('mean what the caller says, before what is known, and may only describe', () => {
    const formats = { semver: String.raw`^\d+\.\d+\.\d+$`, date: '^today$', note: true as const }
    const of = (schema: unknown) => compile(schema, { formats })
    const version = of({ type: 'string', format: 'semver' })
    expect(['"1.20.3"', '"1.2"', '""'].map((text) => version.accepts(text))).toEqual([true, false, false])
    const other = of({ type: 'string', not: { format: 'semver' } })
    expect(['"1.20.3"', '"1.2"', '""'].map((text) => other.accepts(text))).toEqual([false, true, true])
    const day = of({ type: 'string', format: 'date' })
    expect(['"today"', '"2026-11-23"'].map((text) => day.accepts(text))).toEqual([true, false])
    expect(of({ type: 'string', format: 'note', maxLength: 2 }).accepts('"ab"')).toBe(true)
    expect(() => of({ type: 'string', format: 'constructor' })).toThrow("format 'constructor' is not supported")
    // As another thread makes it of what is sent there, and alone or within texts.
    expect(fromSource(JSON.parse(JSON.stringify(version.source))).accepts('"1.2"')).toBe(false)
    const within = fromSource({ sequence: ['v ', { schema: { type: 'string', format: 'semver' }, formats }] })
    expect(['v "1.2.3"', 'v "1.2"'].map((text) => within.accepts(text))).toEqual([true, false])
    expect(judge({ type: 'string', format: 'semver' }, '1.2', formats)).toBe(false)
    expect(judge({ type: 'string', format: 'semver' }, '1.2.3', formats)).toBe(true)
    // Else the pattern beside it is what the format says anyway; by itself it takes too many states.
    const [implied = ''] = IMPLIED.keys()
    const host = { type: 'string', format: 'hostname', pattern: implied }
    expect(compile(host).accepts('"a.example"')).toBe(true)
    expect(() => compile(host, { formats: { hostname: true } })).toThrow('too complex')
    for (const strict of [true, false])
      expect(() => compile({ not: { format: 'note' } }, { strict, formats })).toThrow('no value')
    // Two that share a name are two languages.
    expect(compile({ type: 'string', format: 'semver' }, { formats: { semver: true } }).accepts('"x"')).toBe(true)
  })

  it.each([
    ['datetime', 'date-time'],
    ['hostnme', 'hostname'],
    ['host-name', 'hostname'],
    ['UUID', 'uuid'],
  ])('that are misspelt are refused with the likely one named: %s', (format, meant) => {
    expect(() => compile({ type: 'string', format })).toThrow(
      `format '${format}' is not supported; did you mean '${meant}'?`,
    )
  })

  it('that zod writes beside a pattern that says all of it are no obstacle, and are without the pattern', () => {
    const schemas = [
      z.cuid(),
      z.cuid2(),
      z.ulid(),
      z.xid(),
      z.ksuid(),
      z.nanoid(),
      z.mac(),
      z.cidrv4(),
      z.base64(),
      z.e164(),
    ]
    for (const schema of [
      ...schemas,
      z.hex(),
      z.string().lowercase().startsWith('a').includes('b'),
      z.hash('sha256'),
    ]) {
      const written = z.toJSONSchema(schema) as Record<string, unknown>
      const grammar = compile(written)
      for (const text of [
        'abc',
        'A',
        'tz4a98xxat96iws9zmbrgj3a',
        'aGk=',
        '+4912345678',
        '10.0.0.0/8',
        'f'.repeat(64),
      ]) {
        expect([written.format, text, grammar.accepts(JSON.stringify(text))]).toEqual([
          written.format,
          text,
          schema.safeParse(text).success,
        ])
      }
    }
    expect(() => compile({ type: 'string', format: 'ulid' })).toThrow("format 'ulid' is not supported")
  })

  it('that somebody made up are no obstacle beside a pattern, which is what they are refused for the lack of', () => {
    const written = [z.toJSONSchema(z.stringFormat('order-id', /^o\d+$/)), { format: 'phone', pattern: '^o\\d+$' }]
    for (const schema of [...written, { type: 'string', not: { not: written[1] } }]) {
      const grammar = compile({ ...schema, type: 'string' })
      expect(['"o12"', '"12"'].map((text) => grammar.accepts(text))).toEqual([true, false])
      expect([judge(schema, 'o12'), judge(schema, '12')]).toEqual([true, false])
    }
    // Unless they are likely to be misspelt, or libraries know them and ask more.
    for (const format of ['date_time', 'json-string', 'zoneinfo', 'color'])
      expect(() => compile({ type: 'string', format, pattern: '^o' })).toThrow(`format '${format}' is not supported`)
    expect(() => compile(z.toJSONSchema(z.stringFormat('order-id', () => true)))).toThrow('order-id')
  })

  it.each([...NUMBER_FORMATS])('of numbers are the integers that fit: %s', (format, { minimum, maximum }) => {
    const grammar = compile({ type: 'number', format })
    for (const n of [0, 100, ...[minimum, maximum].filter(Number.isSafeInteger)]) {
      expect([n, grammar.accepts(String(n))]).toEqual([n, true])
    }
    for (const n of [BigInt(minimum) - 1n, BigInt(maximum) + 2048n]) {
      expect([n, grammar.accepts(String(n))]).toEqual([n, false])
    }
    expect(grammar.accepts('0.5')).toBe(false)
  })
})

describe('a pattern beside a format', () => {
  it.each([...IMPLIED])('says no more than the format: %s', (pattern, name) => {
    const much = () => new Fuel(1e9)
    const others = differenceInSlices(formatAutomaton(name)!, compileRegex(pattern, much()), much())
    expect(atOnce(others).empty).toBe(true)
  })

  it('is no obstacle where zod writes it, and still is one of its own where another wrote it', () => {
    for (const type of [z.hostname(), z.email({ pattern: z.regexes.unicodeEmail })])
      expect(() => compile(z.toJSONSchema(z.object({ a: type })))).not.toThrow()
    const accepts = (pattern: string, text: string) =>
      compile({ type: 'string', format: 'hostname', pattern }).accepts(JSON.stringify(text))
    expect(accepts('^a', 'b.example')).toBe(false)
    expect(accepts('^a', 'a.example')).toBe(true)
  })
})
