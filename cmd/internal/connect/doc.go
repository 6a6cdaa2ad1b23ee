// Package connect decides what stands in a runtime's own settings so that it asks belay about
// each event: which entries are belay's, what they say, how they are added to what a person or
// an administrator wrote, and taken out again.
//
// An entry is belay's when it starts belay-hook for that runtime. Every other byte of a file
// stays: connecting and disconnecting gives the former file back, and connecting twice changes
// nothing. Plan reads the files of one runtime and level, and writes none; Write is the one writer.
//
// It decides no action, and knows no hook.
package connect
