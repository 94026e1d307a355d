import { expect, it } from 'vitest'
import { referredTo } from './json-pointer.js'

const inner = { type: 'string' }
const document = {
  $defs: { 'a/b': inner, 'c~d': inner, 'e f': inner, '50%': inner, '': inner, '~1': inner },
  all: [inner],
}

it.each([
  '#/$defs/a~1b',
  '#/$defs/a%7E1b',
  '#/$defs/c~0d',
  '#/$defs/e%20f',
  '#/$defs/50%',
  '#/$defs/',
  '#/$defs/~01',
  '#/all/0',
])('%s leads to a part of the document', (reference) => {
  expect(referredTo(document, reference)).toBe(inner)
})

it('# alone leads to the whole of it', () => {
  expect(referredTo(document, '#')).toBe(document)
})

it.each([
  '#a',
  'https://a.example/b#/all/0',
  '/all/0',
  '',
  '#/all/1',
  '#/all/0/type/0',
  '#/$defs/toString',
  '#/$defs/a/b',
])('%s leads nowhere in it', (reference) => {
  expect(referredTo(document, reference)).toBeUndefined()
})
