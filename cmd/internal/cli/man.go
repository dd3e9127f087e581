package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand returns a hidden command that writes the manual pages of root's commands.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages to a folder",
		Example: "  " + root.Name() + " man ~/.local/share/man/man1",
		Hidden:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("making the folder: %w", err)
			}
			header := &doc.GenManHeader{Section: "1", Source: root.Name() + " " + Version(), Manual: "sendlimit"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("writing the manual pages: %w", err)
			}
			return nil
		},
	}
}
