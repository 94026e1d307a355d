/** How Qwen3-Reranker is asked, as its makers ask it: whether the answer to a question is "yes" or "no". */
export const JUDGE = {
  before:
    '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n',
  after: '<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n',
  /** One text: a tokenizer cuts it otherwise than its parts. */
  question: (query: string, document: string) =>
    `<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: ${query}\n<Document>: ${document}`,
}

/** The words between which it decides. */
export const VERDICTS = ['yes', 'no'] as const
