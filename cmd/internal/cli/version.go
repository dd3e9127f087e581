package cli

import "runtime/debug"

// Version returns the module's version from the build, "unknown" if it has none.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
