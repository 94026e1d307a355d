/**
 * How gpt-oss parts what it writes (harmony): each message of an answer begins with the name of its channel, by which one
 * knows a thought from a call and both from what is said.
 */
export interface Channels {
  readonly open: string
  readonly close: string
  /** The names of the channels. */
  readonly thought: string
  readonly final: string
  readonly called: string
  /** Text before the head of one more message. */
  readonly again: string
}

export const CHANNELS: Channels = {
  open: '<|channel|>',
  close: '<|message|>',
  thought: 'analysis',
  final: 'final',
  called: 'commentary',
  again: '<|start|>assistant',
}

/** Undefined: an answer is one message, and begins by itself. */
export function channelsOf(template: string): Channels | undefined {
  return template.includes(CHANNELS.open) && template.includes(CHANNELS.close) ? CHANNELS : undefined
}

/** The head of the message that is the answer. */
export const headOf = ({ open, final, close }: Channels): string => open + final + close
