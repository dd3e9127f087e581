package keyspace

// HistoryFields lists the fields of a record that have its last changes: change n, from 0, is in
// field n modulo their number. lua/fragments/history.lua has the same ones.
func HistoryFields() []string {
	return []string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "ha", "hb", "hc", "hd", "he", "hf"}
}
