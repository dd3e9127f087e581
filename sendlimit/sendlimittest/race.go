//go:build race

package sendlimittest

const raceDetector = true
