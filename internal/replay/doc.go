// Package replay runs recorded invocations again and decides whether the same came
// out: exactly, call by call, or as far as decisions and budgets go, with another
// version of a hook or another configuration in place of the recorded one.
//
// Nothing that a hook asks for reaches the world. Whatever it was answered, a file's
// link, a tool's result, a value of its state, comes from the recording, and there
// is nothing else that could answer. Deadlines are ignored: fuel bounds a turn.
package replay
