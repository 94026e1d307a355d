/** How a family of models writes a tool call into its text. */
export interface ToolStyle {
  readonly name: 'hermes' | 'llama' | 'mistral' | 'plain'
  /** Text before the JSON of a call. */
  readonly open: string
  /** Text after it. */
  readonly close: string
  /** Between the close of one call and the open of the next; undefined: the model makes one call per answer. */
  readonly between?: string
  /** The template itself tells the model of the tools. */
  readonly native: boolean
}

const HERMES: ToolStyle = {
  name: 'hermes',
  open: '<tool_call>\n',
  close: '\n</tool_call>',
  between: '\n',
  native: true,
}
const LLAMA: ToolStyle = { name: 'llama', open: '', close: '', native: true }
const MISTRAL: ToolStyle = { name: 'mistral', open: '[TOOL_CALLS] [', close: ']', native: true }

/** Read from the chat template, which spells the markers that the model was trained on. */
export function toolStyleOf(template: string): ToolStyle {
  const knowsTools = /\btools\b/.test(template)
  if (!knowsTools) return { ...HERMES, name: 'plain', native: false }
  if (template.includes('[TOOL_CALLS]')) return MISTRAL
  if (template.includes('"parameters"') && template.includes('ipython')) return LLAMA
  // Hermes' form is what models without a marker of their own have seen most often.
  return HERMES
}
