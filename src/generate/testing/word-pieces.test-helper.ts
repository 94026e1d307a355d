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
  const vocab = Object.fromEntries([...new Set([...MARKS, ...pieces])].map((piece, id) => [piece, id]))
  const mark = (content: string) => ({
    id: vocab[content]!,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: MARKS.map(mark),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
      ...normalizer,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [special('[CLS]'), { Sequence: { id: 'A', type_id: 0 } }, special('[SEP]')],
      pair: [
        special('[CLS]'),
        { Sequence: { id: 'A', type_id: 0 } },
        special('[SEP]'),
        { Sequence: { id: 'B', type_id: 1 } },
        { SpecialToken: { id: '[SEP]', type_id: 1 } },
      ],
      special_tokens: Object.fromEntries(['[CLS]', '[SEP]'].map((id) => [id, { id, ids: [vocab[id]!], tokens: [id] }])),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab,
    },
  }
}
