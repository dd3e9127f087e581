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

// Version returns the version of the programs: the version of a release, else the module's version
// from "go install" or a build in a clone, else "unknown".
func Version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "unknown")
	}
	return "unknown"
}

// Revision returns the commit of the build, "" if it is unknown.
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

// UserAgent returns the programs' name for the servers that they call.
func UserAgent() string { return "sendlimit/" + Version() }

// versionCommand prints what --version prints.
func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Run: func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", c.Root().DisplayName(), Version())
	}}
}
