package cli

import (
	"cmp"
	"runtime/debug"
)

// stamped is the version that `make build` gives the linker (-X). A checkout that Go
// may not ask git about, and the sources of an archive, have no other.
var stamped string

// unstamped is the version of a build that says none, a test's for example. It sorts
// before every release.
const unstamped = "v0.0.0-unstamped"

// version is what `belay --version`, events of the daemon, exports and telemetry call this build.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(stamped, info)
}

// versionOf prefers the stamp, then what Go knows: of `go install …@v1.2.3` the
// version, of a checkout the commit.
func versionOf(stamp string, info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "(devel)" {
		return cmp.Or(stamp, unstamped)
	}
	return cmp.Or(stamp, info.Main.Version, unstamped)
}
