package generate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/clients/generate"
)

// a document with one operation, whose parts a test replaces.
const small = `{
	"paths": {"/v1/rooms/{room}": {"post": {
		"operationId": "openRoom", "summary": "Open a room", "description": "Ends a comment: */ and \"\"\"",
		"parameters": [
			{"name": "room", "in": "path", "required": true, "schema": {"type": "string"}},
			{"name": "from", "in": "query", "schema": {"type": "string", "pattern": "[Tt ][0-9]{2}:"}},
			{"name": "If-Match", "in": "header", "schema": {"type": "string"}}
		],
		"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Room"}}}},
		"responses": {
			"200": {"headers": {"ETag": {}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Room"}}}},
			"404": {"content": {"text/plain": {}}}
		}
	}}},
	"components": {"schemas": {"Room": {"type": "object", "required": ["from"], "properties": {
		"from": {"type": "string", "format": "date-time"},
		"code": {"type": "string", "description": "Why.", "examples": ["too_small", "closed"]},
		"size": {"type": ["integer", "null"]},
		"names": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
	}}}}
}`

func TestAMethodHasWhatItsOperationHas(t *testing.T) {
	t.Parallel()
	files, err := generate.Files([]byte(small))
	require.NoError(t, err)

	methods := string(files["typescript/src/operations.ts"])
	require.Contains(t, methods, "   * Open a room.\n   *\n   * Ends a comment: *\\/ and")
	require.Contains(t, methods, "openRoom(room: string, body: api.Room, query: api.OpenRoomQuery = {}, "+
		"options: ConditionalOptions = {}): Promise<api.Room & Versioned> {")
	require.Contains(t, methods, "return this.versioned({ method: \"POST\", path: `/v1/rooms/${segment(\"room\", room)}`, "+
		"body, query: { ...query }, once: true }, options);")

	methods = string(files["python/sendlimit/_operations.py"])
	require.Contains(t, methods, "def open_room(\n        self,\n        room: str,\n        body: api.Room,\n        *,\n"+
		"        from_: str | datetime | None = None,\n        if_match: str | None = None,")
	require.Contains(t, methods, `Ends a comment: */ and \"\"\"`)
	require.Contains(t, methods, "answer: api.VersionedRoom = self._versioned(request, cancel)")
	require.Contains(t, methods, "once=True")

	types := string(files["python/sendlimit/types.py"])
	require.Contains(t, types, "class Code(StrEnum):\n    \"\"\"What is wrong. More may be added.\"\"\"\n\n    CLOSED = \"closed\"\n    TOO_SMALL = \"too_small\"\n")
	require.Contains(t, types, "_Room = TypedDict(\"_Room\", {\n    \"from\": \"str\",\n})\n\n\nclass Room(_Room):\n")
	require.Contains(t, types, "    code: NotRequired[str]\n    \"\"\"Why.\"\"\"\n    names: NotRequired[dict[str, list[str]]]\n    size: NotRequired[int | None]\n")

	golang := string(files["../client/operations_generated.go"])
	require.Contains(t, golang, "\tRoom = message.Room\n")
	require.Contains(t, golang, "\tCodeTooSmall Code = \"too_small\"\n")
	require.Contains(t, golang, "type OpenRoomQuery struct {\n\tFrom time.Time\n}\n")
	require.Contains(t, golang, "// OpenRoom: open a room.\n//\n// Ends a comment")
	require.Contains(t, golang, "func (c *Client) OpenRoom(ctx context.Context, room string, body Room, query OpenRoomQuery, only ...Condition) (Room, error) {\n"+
		"\treturn value[Room](ctx, c, call{doing: \"open a room\", method: \"POST\", path: \"/v1/rooms/{room}\", segments: []string{room}, "+
		"body: body, query: values(\"from\", spell(query.From)), header: headerOf(only), once: true})")

	schemas, err := generate.Schemas([]byte(small))
	require.NoError(t, err)
	require.Contains(t, string(schemas), `"x-words":["closed","too_small"]`)
	require.Contains(t, string(schemas), `"OpenRoomQuery":{"type":"object","description":"The query of openRoom.",`+
		`"properties":{"from":{"type":"string","x-time":true}}}`)
}

// Nothing of a document is left out silently.
func TestWhatClientsCanNotExpressIsAnError(t *testing.T) {
	t.Parallel()
	const answer = `"ETag": {}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Room"`
	for _, row := range []struct{ old, instead, says string }{
		{"If-Match", "X-Color", "openRoom: the clients have no header X-Color"},
		{`"name": "If-Match", "in": "header"`, `"name": "a", "in": "cookie"`, "openRoom: the clients have no cookie a"},
		{`"requestBody": {"content": {"application/json"`, `"requestBody": {"content": {"text/csv"`, "openRoom: the clients send only JSON"},
		{`"ETag": {}}, "content": {"application/json"`, `"ETag": {}}, "content": {"image/png"`, "openRoom: the clients don't read image/png"},
		{`"name": "from"`, `"name": "cursor"`, "openRoom: Room is no page"},
		{answer, strings.ReplaceAll(answer, "Room", "Outcome"), "openRoom: goOutcomes does not have the outcome of its success"},
		{answer, `"ETag": {}}, "content": {"application/x-ndjson": {"schema": {"anyOf": [{"$ref": "#/components/schemas/Room"}]`, "RoomEvent: Room has no outcomes"},
		{`"integer", "null"`, `"decimal"`, `Room: size: unknown type "decimal"`},
		{`"paths"`, `paths`, "read the OpenAPI document"},
	} {
		document := strings.Replace(small, row.old, row.instead, 1)
		require.NotEqual(t, small, document, row.old)
		_, err := generate.Files([]byte(document))
		require.ErrorContains(t, err, row.says)
	}
}
