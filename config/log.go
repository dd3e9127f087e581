package config

// logSettings returns the rows of the table about the log.
func logSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "log_level", written: &w.LogLevel, standard: "info", kind: "level",
			help:   "lowest level that is logged: debug, info, warn or error",
			accept: logLevel(&c.LogLevel), words: []string{"debug", "info", "warn", "error"},
		},
		{
			key: "log_format", written: &w.LogFormat, standard: "auto", kind: "format",
			help:   "log format: text, json, or auto, which is text on a terminal and json elsewhere",
			accept: logFormat(&c.LogFormat), words: []string{"auto", "text", "json"},
		},
	}
}
