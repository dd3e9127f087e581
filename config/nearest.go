package config

import "github.com/agnivade/levenshtein"

// Nearest returns the known name that a mistyped one most likely means, "" if none is near.
func Nearest(name string, known []string) string {
	nearest, distance := "", max(1, len(name)/3)+1
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < distance {
			nearest, distance = candidate, d
		}
	}
	return nearest
}
