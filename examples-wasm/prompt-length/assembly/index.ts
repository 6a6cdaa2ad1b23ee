// Blocks messages that are too long, and tells the agent to be brief about long ones.

import { addContext, block, configInt, inputText } from "./belay";

/** Characters of UTF-8 text: every byte that does not continue one. */
function characters(text: ArrayBuffer): i32 {
  let count = 0;
  for (let i = 0; i < text.byteLength; i++) {
    if ((load<u8>(changetype<usize>(text) + i) & 0xc0) != 0x80) count++;
  }
  return count;
}

export function pre_plan(): i32 {
  const text = inputText("/text");
  if (text === null) return 0;
  const length = characters(text);
  const max = configInt("/max_chars", 100000);
  const long = configInt("/long_chars", 20000);
  if (length > max) {
    block("the message has " + length.toString() + " characters; at most " + max.toString() + " are allowed");
  } else if (length > long) {
    addContext("The message is long (" + length.toString() + " characters). Sum it up in a few lines before acting on it.");
  }
  return 0;
}
