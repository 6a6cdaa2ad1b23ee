// Package wire holds the words of the daemon's answers: status, hooks, latches, queries for
// events, problems. The daemon encodes the types that clients decode, and what opens a state
// directory itself answers with the same ones. The JSON of a type is part of the API
// (GET /v1/openapi.json): members are added, never renamed.
//
// It decides nothing, except which events a Query selects.
package wire
