package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// stamped is the version of a release; its build sets it with
// -ldflags "-X github.com/sendlimit/sendlimiter/cmd/internal/cli.stamped=v1.2.3".
var stamped string //nolint:globals // the linker sets it

// Version returns the version of the programs: that of a release, else the module's from the
// build, which "go install" and a build in a clone give it, "unknown" if there is none.
func Version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "unknown")
	}
	return "unknown"
}

// Revision returns the commit that the programs were built from, "" if the build does not know.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// UserAgent returns how the programs name themselves to the servers that they call.
func UserAgent() string { return "sendlimit/" + Version() }

// versionCommand prints what --version prints.
func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Run: func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", c.Root().DisplayName(), Version())
	}}
}
