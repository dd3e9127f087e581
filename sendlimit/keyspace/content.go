package keyspace

import "strings"

// Redis keeps a hash compact while no value is longer than 64 bytes and there are few fields. A
// record of a message with 150 bytes of content takes 328 bytes then, and 544 otherwise. From about
// a kilobyte on little is saved, and reading takes longer the more fields there are. So content of
// less than wholeFrom bytes is split into fields of contentChunk bytes each. Longer content is in
// the first field only.
const (
	contentChunk = 64
	wholeFrom    = 513
)

// ContentFields lists the fields of a record that have its content, in order.
// lua/fragments/content.lua has the same ones.
func ContentFields() []string { return namesOf(contentFields()) }

func namesOf(fields [contentFieldCount]any) []string {
	names := make([]string, 0, contentFieldCount)
	for _, field := range fields {
		name, _ := field.(string)
		names = append(names, name)
	}
	return names
}

const contentFieldCount = 8

// contentFields is ContentFields as arguments of a script, so that nothing has to convert them.
func contentFields() [contentFieldCount]any {
	return [...]any{RecordContent, "1", "2", "3", "4", "5", "6", "7"}
}

// AppendContent appends alternating fields and values of a content to the arguments of a script;
// none for an empty content.
func AppendContent(args []any, content []byte) []any {
	return appendChunks(args, content, contentFields())
}

func appendChunks(args []any, content []byte, fields [contentFieldCount]any) []any {
	if len(content) >= wholeFrom {
		return append(args, fields[0], content)
	}
	for _, field := range fields {
		if len(content) == 0 {
			break
		}
		chunk := content[:min(contentChunk, len(content))]
		content = content[len(chunk):]
		args = append(args, field, chunk)
	}
	return args
}

// JoinContent joins the values of ContentFields; nil if there are none.
func JoinContent(lookup func(field string) (value string, ok bool)) []byte {
	return joinChunks(lookup, ContentFields())
}

func joinChunks(lookup func(field string) (value string, ok bool), fields []string) []byte {
	var content strings.Builder
	for _, field := range fields {
		chunk, ok := lookup(field)
		if !ok {
			break
		}
		content.WriteString(chunk)
	}
	if content.Len() == 0 {
		return nil
	}
	return []byte(content.String())
}

// MetadataFields lists the fields of a record that have its metadata, in order, split like content.
// lua/fragments/metadata.lua has the same ones.
func MetadataFields() []string { return namesOf(metadataFields()) }

func metadataFields() [contentFieldCount]any {
	return [...]any{RecordMetadata, "N", "O", "P", "Q", "R", "S", "T"}
}

// AppendMetadata is AppendContent for the metadata of a message.
func AppendMetadata(args []any, metadata []byte) []any {
	return appendChunks(args, metadata, metadataFields())
}

// JoinMetadata is JoinContent for MetadataFields.
func JoinMetadata(lookup func(field string) (value string, ok bool)) []byte {
	return joinChunks(lookup, MetadataFields())
}
