// Package config reads the settings of the programs and checks them once, at start. A setting comes
// from a flag, the environment, a YAML file or its default, in this order. An empty value is no
// value.
//
// A setting has one name in three spellings: push_timeout in the file, SENDLIMIT_PUSH_TIMEOUT in
// the environment, --push-timeout as a flag. Nested names are joined: policy.rules is
// SENDLIMIT_POLICY_RULES and --policy-rules. REDIS_URL has no prefix. Secrets have no flag, because
// all users of a machine can read command lines.
//
//	Config       all settings, valid; Load returns one
//	Check        checks the settings that one program requires
//	ReadPolicy   reads a policy from a file; package policy validates it
//	Error        every problem: setting, value, what is allowed, file and line
//
// Each setting is one row of the table in settings.go: name, default, accepted values and help. The
// variable, the flag, the heading in the help and the log value follow from the row. To add a
// setting, add a field of Config and a row, and describe it in sendlimit.example.yaml. A test
// compares that file with the table.
//
// An unknown setting is rejected: a mistyped one would have no effect, and messages would be unsigned or
// sent at the wrong time. But after a rollback an older version meets the settings of a newer one,
// and must start. It can't tell the two apart for sure, so the operator says with unknown_settings: warn
// that the settings may be of a newer version, as the manifests in deploy do. Even then a name that is
// similar to a known one is a mistyped one, and so is a field of a policy, a tier or an account, since
// without it users might get more messages than they should. KnowsAll rejects all, for a check of the
// settings before the start.
//
// Libraries such as koanf and ff merge the sources, but lose the line of the file that a value came
// from. The strict decoder of the YAML library stops at the first error, names Go types, and reads
// the name 0123 as the number 83.
//
// Package config starts nothing and knows no store.
package config
