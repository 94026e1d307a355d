/**
 * An error to be kept: it says what it said, and holds nothing else. V8 spells the stack of an error when it is first asked
 * for, and until then keeps whatever was being called, which may be megabytes.
 */
export function keptError<E extends Error>(error: E): E {
  void error.stack
  return error
}
