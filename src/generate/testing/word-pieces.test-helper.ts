import { wordPiece } from '../../../test/oracles/files/repository.js'

/** A small tokenizer of BERT's kind: whole words, pieces that go on a word, and single characters of many scripts. */
const MARKS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const WORDS = [
  ...['the', 'cat', 'dog', 'sat', 'on', 'mat', 'hello', 'world', 'un', 'play', 'house', 'strasse', 'naive', 'cafe'],
  ...['quick', 'brown', 'fox', 'jump', 'over', 'lazy', 'bank', 'river', 'money', 'berlin', 'paris', 'query', 'text'],
]
const ENDS = ['ing', 'ed', 's', 'er', 'ly', 'able', 'ness', 'θος', 'ск']
const CHARACTERS = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789.,!?\'"()[]-_/@#$%&*+=<>:;|~^`{}\\',
  ...'äöüßçøαβγδεζηθικλμνξοπρσςτυφχωабвгдежзиклмнопрстуфхья',
  ...'日本語中文字龍가나다। ،。、《》…—’“”€£',
]

export function wordPieces(normalizer: object = {}) {
  const pieces = [...WORDS, ...ENDS.map((end) => `##${end}`), ...CHARACTERS, ...CHARACTERS.map((one) => `##${one}`)]
  const whole = wordPiece([...new Set([...MARKS, ...pieces])], MARKS)
  const kinds = { clean_text: true, handle_chinese_chars: true, strip_accents: null }
  return {
    ...whole,
    truncation: null,
    padding: null,
    added_tokens: whole.added_tokens.map((mark) => ({ ...mark, single_word: false, lstrip: false, rstrip: false })),
    normalizer: { ...whole.normalizer, ...kinds, ...normalizer },
  }
}
