//go:build race

package integration

// raceDetector says that the tests, and so the binary, run under the race detector.
const raceDetector = true
