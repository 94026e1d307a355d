/** A small model beside a large one of the same vocabulary: it guesses what that one says. */
import { type FileHead, type HeadCheck, idOf, locationOf, type ModelLocation, purposeOf } from '../../models/index.js'
import { assertSameVocabulary, draftMismatch } from '../drafts.js'
import type { DraftFile, OpenedFile } from './load.js'

/** Throws, before weights are downloaded, where it cannot guess for the model whose `head` this is. */
export async function openDraftFile(
  name: string,
  { id: of, head }: { readonly id: string; readonly head: FileHead },
  openFile: (place: ModelLocation, check: HeadCheck) => Promise<OpenedFile>,
): Promise<DraftFile> {
  const id = idOf(name)
  if (purposeOf(head.about, of) !== 'chat') throw draftMismatch(id, of, 'that model cannot generate text.')
  let tokens = 0
  const file = await openFile(locationOf(name), ({ about, text }) => {
    if (purposeOf(about, id) !== 'chat') throw draftMismatch(id, of, 'it cannot generate text.')
    tokens = assertSameVocabulary({ id: of, text: head.text }, { id, text })
  })
  return { id, file, tokens }
}
