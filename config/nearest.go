package config

import "github.com/agnivade/levenshtein"

// Nearest returns the known name that is most similar to a mistyped one; "" if none is similar.
func Nearest(name string, known []string) string {
	nearest, distance := "", max(1, len(name)/3)+1
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < distance {
			nearest, distance = candidate, d
		}
	}
	return nearest
}
