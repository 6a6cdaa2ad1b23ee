package main

import (
	_ "embed"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// eventText is a tool call of a coding agent, in the form that belay takes.
//
//go:embed testdata/event.json
var eventText []byte

// forbidden is what the policy of all subjects does not allow in a command.
const forbidden = "rm -rf /"

// event is the invocation, and document what a hook sees of it: what every judge gets as bytes.
func event() (phases.Invocation, jsontext.Value, error) {
	inv, err := phases.DecodeInvocation(eventText)
	if err != nil {
		return inv, nil, err
	}
	doc, err := documentOf(inv)
	return inv, doc, err
}

// command returns the invocation with another command in it.
func withCommand(inv phases.Invocation, command string) (phases.Invocation, error) {
	text, err := jsontext.AppendQuote(nil, command)
	if err != nil {
		return inv, err
	}
	inv.Action = append(append(jsontext.Value(`{"tool":"exec","args":{"command":`), text...), "}}"...)
	return inv, nil
}
