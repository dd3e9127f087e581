package config_test

import "strings"

// variable, flagOf and yamlOf spell a setting as each source does, by the rule
// that the documentation gives.
func variable(key string) string {
	if key == "redis_url" {
		return "REDIS_URL"
	}
	return "SENDLIMIT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func flagOf(key string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(key)
}

func yamlOf(key, value string) string {
	if outer, inner, nested := strings.Cut(key, "."); nested {
		return outer + ":\n  " + inner + ": " + value + "\n"
	}
	return key + ": " + value + "\n"
}
