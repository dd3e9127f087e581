// Package config reads the settings of the programs and checks them once, at start. A
// setting comes from a flag, else from the environment, else from a YAML file, else it has
// its default. An empty value means none.
//
// A setting has one name in three spellings: push_timeout in the file,
// SENDLIMIT_PUSH_TIMEOUT in the environment, --push-timeout as a flag. Nested names are
// joined: policy.rules is SENDLIMIT_POLICY_RULES and --policy-rules. REDIS_URL has no
// prefix. Secrets (push_secret, smtp_password, alert_secret) have no flag, because all
// users of a machine can read its command lines.
//
//	Config       all settings, valid; Load returns one
//	Check        what one program requires of them
//	ReadPolicy   a policy in a file; package policy judges it
//	Error        everything that is wrong: setting, value, what is allowed, file and line
//
// A setting is one row of the table in settings.go: its name, its default, what it accepts,
// and the words of its flag. What it accepts names the field of Config and the bounds. The
// variable, the flag, the name in the file, the heading in the help and the log value follow
// from the row. To add a setting, add a field and a row, and describe it in
// sendlimit.example.yaml, which a test holds against the table.
//
// A library such as koanf or ff would replace only the reading of flags and environment, 110
// lines here: both merge maps of values without the line of a file that each came from. The
// table of settings, what each accepts, and all errors at once with their source would stay.
//
// The strict decoding of the YAML library would replace the reading of structs, 100 lines in
// reader.go. It stops at the first error, names types of Go, and silently reads the name 0123
// as the number 83.
//
// Package config starts nothing and knows no store.
package config
