/** Prints the tokenizers of our tests for `bert.py`, which asks Hugging Face's own library about them. */
import { wordPieces } from '../../src/generate/testing/word-pieces.test-helper.js'

const FORMS = {
  plain: {},
  cased: { lowercase: false },
  accents: { strip_accents: false },
  together: { handle_chinese_chars: false },
}
console.log(
  JSON.stringify(
    Object.fromEntries(
      Object.entries(FORMS).map(([name, form]) => [name, { form, json: JSON.stringify(wordPieces(form)) }]),
    ),
  ),
)
