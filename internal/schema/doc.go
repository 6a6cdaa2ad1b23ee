// Package schema decides what the JSON Schemas of belay's YAML files say, for editors that
// complete and check while a person types. Names and types come from the Go types that the
// strict decoders fill, so that a member cannot be in one and not in the other; forms, bounds
// and what excludes what stand in a table for each file.
//
// It never decides whether a file is valid: the decoders do. A schema cannot say that names
// differ, that a name is one of those above, that a pattern is RE2 or that a duration is within
// bounds; a decoder refuses these where the schema lets them pass.
//
// Source: JSON Schema, draft 2020-12.
package schema
