package core

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Body stands in for another reader.
type Body struct{ from io.Reader }

// Read may return an error as it is: it is compared.
func (b Body) Read(p []byte) (int, error) { return b.from.Read(p) }

// Size hands on what a function on the way handed on.
func Size(ctx context.Context, name string) (int64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	n, err := sizeOf(name)
	if err != nil {
		return 0, err /* want package-internal error should be wrapped */
	}
	if n > 0 {
		return n, nil
	}
	if _, err := firstOf(name); err != nil {
		return 0, err
	}
	err = each(func() error {
		_, err := os.Stat(name)
		return err
	})
	return 0, err
}

// Name says what was being done.
func Name(name string) (string, error) {
	info, err := infoOf(name)
	if err != nil {
		return "", fmt.Errorf("looking at %s: %w", name, err)
	}
	return info.Name(), nil
}

func sizeOf(name string) (int64, error) {
	info, err := infoOf(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func infoOf(name string) (os.FileInfo, error) { return os.Stat(name) }

// firstOf says what was being done, and so do those above it.
func firstOf(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading: %w", err)
	}
	return string(text[:1]), nil
}

func each(do func() error) error { return do() }
