// Write belay hooks in AssemblyScript: typed wrappers of guest ABI version 1.
//
//     import * as hook from "../sdk";
//
//     export function pre_tool(): i32 {
//       if (hook.inputCommand() == "reboot") hook.block("no reboots");
//       return hook.OK;
//     }
//
// Returning OK without an effect means "no opinion". Returning fail("...") or anything else, a throw and a trap fail the
// hook, and belay then blocks the action. Effects are a transaction: they count only when the function returns OK.

export * from "./analysis";
export * from "./calls";
export * from "./effects";
export * from "./errors";
export { Kind, parseInteger, quote, Value, Writer } from "./json";
export * from "./reads";
export { halt } from "./text";
import "./abort";
