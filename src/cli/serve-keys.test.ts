import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { Fault } from './fault.js'
import { serveKeys } from './serve-keys.js'

const root = ownFolder()

function fileOf(text: string): string {
  const file = join(mkdtempSync(join(root, 'of-')), 'keys')
  writeFileSync(file, text)
  return file
}

describe('the keys of a server', () => {
  it('come from the command line, a file and the environment, together', () => {
    const keyFile = fileOf('\ufeff# comment\nin-file\r\n\n')
    const env = { LOCAL_V1_KEY: 'one', LOCAL_V1_KEYS: 'two, three\nfour' }
    expect(serveKeys({ key: ['said'], keyFile }, env)).toEqual(['said', 'in-file', 'one', 'two', 'three', 'four'])
    expect(serveKeys({}, {})).toEqual([])
  })

  it.skipIf(process.platform === 'win32')('in a file that others may read are told, once the file is read', () => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const keyFile = fileOf('in-file\n')
    for (const [mode, times] of [
      [0o600, 0],
      [0o640, 1],
      [0o604, 2],
    ] as const) {
      chmodSync(keyFile, mode)
      serveKeys({ keyFile }, {})
      expect(stderr.mock.calls.filter(([text]) => String(text).includes('chmod 600'))).toHaveLength(times)
    }
    stderr.mockRestore()
  })

  it.each<[string, () => unknown]>([
    ['--key', () => serveKeys({ key: ['a b'] }, {})],
    ['--key-file', () => serveKeys({ keyFile: fileOf('good\nschlüssel\n') }, {})],
    ['LOCAL_V1_KEY has', () => serveKeys({}, { LOCAL_V1_KEY: 'a b' })],
    ['LOCAL_V1_KEYS has', () => serveKeys({}, { LOCAL_V1_KEYS: 'good,ключ' })],
  ])('are refused where no header can carry them, without telling them: %s', (from, read) => {
    expect(read).toThrow(Fault)
    expect(read).toThrow(from)
    expect(read).not.toThrow(/a b|schlüssel|ключ/)
  })

  it.each<[string, () => unknown]>([
    ['LOCAL_V1_KEY is empty', () => serveKeys({}, { LOCAL_V1_KEY: '' })],
    ['LOCAL_V1_KEYS has no key', () => serveKeys({}, { LOCAL_V1_KEYS: ' ,' })],
    ['has no key', () => serveKeys({ keyFile: fileOf('# none\n\n') }, {})],
    ['cannot be read', () => serveKeys({ keyFile: '/no/such/file' }, {})],
  ])('that were meant and are not there leave no server open: %s', (message, read) => {
    expect(read).toThrow(message)
  })
})
