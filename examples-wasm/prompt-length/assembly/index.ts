// Blocks messages that are too long, and tells the agent to be brief about long ones.

import * as hook from "../../../hooks-sdk/assemblyscript";

/** Characters of a text: every unit of UTF-16 that does not end a pair. */
function characters(text: string): i32 {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) != 0xdc00) count++;
  }
  return count;
}

export function pre_plan(): i32 {
  const text = hook.inputText("/text");
  if (text === null) return hook.OK;
  const length = characters(text);
  const max = hook.configInt("/max_chars", 100000);
  const long = hook.configInt("/long_chars", 20000);
  if (length > max) {
    hook.block("the message has " + length.toString() + " characters; at most " + max.toString() + " are allowed");
  } else if (length > long) {
    hook.addContext(
      "The message is long (" + length.toString() + " characters). Sum it up in a few lines before acting on it.",
    );
  }
  return hook.OK;
}
