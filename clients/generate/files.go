package generate

// Files returns the files that follow from an OpenAPI document, by their paths in the
// folder of the clients.
func Files(openAPI []byte) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for path, write := range map[string]func([]byte) ([]byte, error){
		"typescript/src/operations.ts":    typeScriptFile,
		"python/sendlimit/_operations.py": pythonFile,
		"python/sendlimit/types.py":       pythonTypesFile,
	} {
		text, err := write(openAPI)
		if err != nil {
			return nil, err
		}
		files[path] = text
	}
	return files, nil
}
