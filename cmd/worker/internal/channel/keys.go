package channel

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/notifier/webpush"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// keyPair is the output of keys.
type keyPair struct {
	Public  string `json:"public_key"`
	Private string `json:"private_key,omitempty"`
	File    string `json:"private_key_file,omitempty"`
}

func (c *commands) keysCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "keys [--out FILE]", Short: "Create a key pair for Web Push.",
		Long: "Create a VAPID key pair for pushes to browsers. Pages subscribe with the public key,\n" +
			"as the applicationServerKey of their PushManager; workers sign with the private\n" +
			"one, webpush.private_key. A subscription works only with the pair that created\n" +
			"it, so keep the private key: with a new pair, every browser has to\n" +
			"subscribe again.",
		Example: "  sendlimit-worker channel keys --out vapid.key\n" +
			"  sendlimit-worker channel keys --json",
		RunE: func(*cobra.Command, []string) error { return c.makeKeys(file) },
	}
	cmd.Flags().StringVar(&file, "out", "", "write the private key to a new `file` that only its owner can read, instead of printing it")
	return cmd
}

func (c *commands) makeKeys(file string) error {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		return fmt.Errorf("creating a key pair: %w", err)
	}
	made := keyPair{Public: keys.Public, Private: keys.Private}
	if file != "" {
		if err := writeSecret(file, keys.Private+"\n"); err != nil {
			return err
		}
		made.Private, made.File = "", file
	}
	if c.asJSON {
		return c.PrintJSON(made)
	}
	private := "private key  " + made.Private + "\n\nKeep the private key secret, and set it for the workers as SENDLIMIT_WEBPUSH_PRIVATE_KEY.\n"
	if file != "" {
		private = "private key  in " + file + "\n\nGive it to workers with --webpush-private-key-file.\n"
	}
	return c.Print("public key   " + made.Public + "\n" + private + "Pages subscribe with the public key, as applicationServerKey.\n")
}

// writeSecret writes a new file that only its owner can read. It replaces no file: the former key
// may still be in use.
func writeSecret(name, text string) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fault.Wrong("out", "%s already exists: choose another --out, so that no key in use is lost", name)
	}
	if err != nil {
		return fault.Wrong("out", "can't write the key: %v", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := io.WriteString(file, text); err != nil {
		return fmt.Errorf("writing the key: %w", err)
	}
	return nil
}
