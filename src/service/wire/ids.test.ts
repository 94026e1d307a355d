import { expect, test } from 'vitest'
import { itemId } from './ids.js'

test('items have ids of their own, however many there are', () => {
  const ids = Array.from({ length: 20_000 }, () => itemId('msg'))
  expect(new Set(ids).size).toBe(20_000)
  expect(ids.filter((id) => !/^msg_[0-9a-f]{32}$/.test(id))).toEqual([])
})
