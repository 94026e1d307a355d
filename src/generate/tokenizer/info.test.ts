import { expect, it } from 'vitest'
import { ChatText } from '../chat-text.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'

it('has the template in use and a class, and no file paths', () => {
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  const own = { ...tokenizerConfig, model_max_length: 512, name_or_path: '/home/me/model', vocab_file: 'vocab.json' }
  const infoOf = (files: object) => new ChatText({ tokenizer, tokenizerConfig: own, ...files }).info
  expect(infoOf({})).toEqual({ ...tokenizerConfig, model_max_length: 512, tokenizer_class: 'PreTrainedTokenizerFast' })
  expect(infoOf({ chatTemplate: 'another {{ messages[0].content }}' }).chat_template).toContain('another')
  const listed = [{ name: 'default', template: 'a' }]
  expect(infoOf({ tokenizerConfig: { chat_template: listed, tokenizer_class: 'Qwen2Tokenizer' } })).toEqual({
    chat_template: listed,
    tokenizer_class: 'Qwen2Tokenizer',
  })
})
