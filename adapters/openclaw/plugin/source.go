// Package plugin has belay's plugin for OpenClaw, as `belay connect openclaw` writes it. belay.js is built from the
// TypeScript sources beside it (npm run build) and committed, so that building belay needs Go alone.
package plugin

import _ "embed"

//go:embed belay.js
var source string

// Source returns the program. It expects one line before it that sets BELAY_SETTINGS.
func Source() string { return source }
