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

// Secrets have no flag, and are hidden wherever settings are shown.
func secrets() []string {
	return []string{
		"api_key", "push_secret", "push_headers", "smtp_password", "alert_secret", "fcm.credentials", "apns.key", "webpush.private_key",
	}
}
