package generate

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files returns the files that are generated from an OpenAPI document, by their paths in the folder
// of the clients.
func Files(openAPI []byte) (map[string][]byte, error) {
	d, operations, err := read(openAPI)
	if err != nil {
		return nil, err
	}
	methods, err := pythonMethods(operations)
	if err != nil {
		return nil, err
	}
	types, err := pythonTypes(d.Components.Schemas, operations)
	if err != nil {
		return nil, err
	}
	golang, err := goOperations(d, operations)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		goFile:                            golang,
		"typescript/src/operations.ts":    []byte(typeScriptMethods(operations)),
		"python/sendlimit/_operations.py": []byte(methods),
		"python/sendlimit/types.py":       []byte(types),
	}, nil
}

// Outdated returns the files that differ from those in a folder.
func Outdated(folder string, files map[string][]byte) ([]string, error) {
	var outdated []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		present, err := os.ReadFile(filepath.Join(folder, path))
		if err != nil {
			return nil, fmt.Errorf("compare the clients: %w", err)
		}
		if !bytes.Equal(present, files[path]) {
			outdated = append(outdated, path)
		}
	}
	return outdated, nil
}
